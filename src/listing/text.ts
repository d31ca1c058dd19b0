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
 * How well a word was found in a text: the lower, the better. 0 if the text begins with it and has it as a
 * whole word, 1 if it only begins with it, 2 for a word elsewhere, 3 for the beginning of one, 4 for a part.
 */
export type Place = number;

/** Texts in which words and parts of words are found. */
export interface TextIndex {
  /** Calls `found` once for each text that has these letters. */
  find(letters: string, found: (text: number, place: Place) => void): void;
}

/** Letters that stand for others in symbols. */
const LOOK_ALIKES: Readonly<Record<string, string>> = { '₮': 't', '₿': 'b' };

/** Makes one of the writings of a text: narrow, small, without accents and what cannot be seen. */
export function foldText(text: string): string {
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
  const lines = texts.map((text) => foldText(text).split(/\s+/).map(lettersOf).filter(Boolean).join(' '));
  // One long text is searched many times faster than many short ones.
  const joined = lines.join('\n');
  const starts = new Uint32Array(lines.length);
  let length = 0;
  for (const [index, line] of lines.entries()) {
    starts[index] = length;
    length += line.length + 1;
  }

  return {
    find(letters, found) {
      if (letters === '') return;
      let from = 0;
      let text = 0;
      for (;;) {
        const at = joined.indexOf(letters, from);
        if (at === -1) return;
        text = lastStartUpTo(starts, at, text);
        found(text, placeIn(lines[text] ?? '', letters));
        from = starts[text + 1] ?? joined.length;
      }
    },
  };
}

/** Its letters and digits: "USDC.e" and "S*USDC" are found by "usdce" and "susdc", too; what has no letters at all stays as it is. */
export function lettersOf(folded: string): string {
  return folded.replace(/[^\p{L}\p{N}]/gu, '') || folded;
}

function narrow(text: string): string {
  return text.normalize('NFKC').replace(/\p{Cf}/gu, '');
}

function placeIn(line: string, letters: string): Place {
  const padded = ` ${line} `;
  if (!padded.includes(` ${letters}`)) return 4;
  return (line.startsWith(letters) ? 0 : 2) + (padded.includes(` ${letters} `) ? 0 : 1);
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
