/** One word of what a person typed. */
export interface SearchWord {
  /** As it was typed, but for the width of its letters: base58 addresses are case-sensitive. */
  readonly typed: string;
  /** As symbols are compared with it. */
  readonly folded: string;
  /** Its letters and digits alone, as they are looked for in a {@link TextIndex}. */
  readonly letters: string;
}

/**
 * How well a word was found in a text: the lower, the better. 0 for the first word, 1 for the beginning of
 * it, 2 for another word, 3 for the beginning of that, 4 for a part.
 */
export type Place = number;

/** Texts in which words and parts of words are found. */
export interface TextIndex {
  /** Calls `found` once for each text that has these letters. */
  find(letters: string, found: (text: number, place: Place) => void): void;
}

/** Most texts are, and need no more than small letters. */
const PLAIN = /^[ -~]*$/;
const ONLY_LETTERS = /^[a-z0-9]*$/;

/** Letters that stand for others in symbols. */
const LOOK_ALIKES: Readonly<Record<string, string>> = { '₮': 't', '₿': 'b' };

/** Makes one of the writings of a text: narrow, small, without accents and what cannot be seen. */
export function foldText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return narrow(text)
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[₮₿]/g, (letter) => LOOK_ALIKES[letter] ?? letter);
}

/** The distinct words of what a person typed, in their order; what has no letters counts if all is so. */
export function wordsOf(search: string): readonly SearchWord[] {
  const words = new Map<string, SearchWord>();
  for (const typed of narrow(search).split(/\s+/).filter(Boolean)) {
    const folded = foldText(typed);
    if (!words.has(folded)) words.set(folded, { typed, folded, letters: lettersOf(folded) });
  }
  const all = [...words.values()];
  const withLetters = all.filter(({ folded }) => /[\p{L}\p{N}]/u.test(folded));
  return withLetters.length > 0 ? withLetters : all;
}

/** Makes an index of these texts, each known by its place among them. */
export function createTextIndex(texts: readonly string[]): TextIndex {
  const starts = new Uint32Array(texts.length);
  let length = 1;
  const lines = texts.map((text, index) => {
    const line = foldText(text).split(/\s+/).map(lettersOf).filter(Boolean).join(' ');
    starts[index] = length;
    length += line.length + 1;
    return line;
  });
  // One long text is searched many times faster than many short ones.
  const joined = `\n${lines.join('\n')}\n`;

  function placeAt(at: number, letters: string): Place {
    const before = joined[at - 1];
    if (before !== '\n' && before !== ' ') return 4;
    const behind = joined[at + letters.length];
    return (before === '\n' ? 0 : 2) + (behind === '\n' || behind === ' ' ? 0 : 1);
  }

  return {
    find(letters, found) {
      if (letters === '') return;
      let text = 0;
      let best: Place | undefined;
      for (let at = joined.indexOf(letters); at !== -1; at = joined.indexOf(letters, at + 1)) {
        const its = lastStartUpTo(starts, at, text);
        if (best !== undefined && its !== text) {
          found(text, best);
          best = undefined;
        }
        text = its;
        best = Math.min(best ?? 4, placeAt(at, letters));
      }
      if (best !== undefined) found(text, best);
    },
  };
}

/**
 * The letters and digits of a folded word, so that "usdce" and "susdc" find "USDC.e" and "S*USDC", too; a
 * word that has none stays as it is.
 */
export function lettersOf(folded: string): string {
  return ONLY_LETTERS.test(folded) ? folded : folded.replace(/[^\p{L}\p{N}]/gu, '') || folded;
}

function narrow(text: string): string {
  return text.normalize('NFKC').replace(/\p{Cf}/gu, '');
}

/** The last of the ascending `starts`, from the one at `low` on, that is not beyond `position`. */
function lastStartUpTo(starts: Uint32Array, position: number, low: number): number {
  let first = low;
  let last = starts.length - 1;
  while (first < last) {
    const middle = (first + last + 1) >>> 1;
    if ((starts[middle] ?? 0) <= position) first = middle;
    else last = middle - 1;
  }
  return first;
}
