/*
 * Symbols that a person can mistake for each other: written with letters of another alphabet, the symbol of a worthless
 * token looks like that of a valuable one.
 */
import { foldText } from './fold-text.js';

/**
 * The letters of Greek and Cyrillic that look like Latin letters or digits, behind what they look like in lower case.
 * They are all those of confusables.txt of Unicode 17.0.0 (UTS #39), where the accent of a look-alike does not count.
 */
const LOOKALIKES: readonly (readonly [latin: string, letters: string])[] = [
  ['2', 'Ꙅ'],
  ['3', 'ЗҘӠ'],
  ['6', 'б'],
  ['a', 'ΑαАа'],
  ['ae', 'Ӕӕ'],
  ['b', 'ΒБВЬѢѣҌҍ'],
  ['bl', 'Ы'],
  ['c', 'ϲϹСсҪҫ'],
  ['d', 'ԁ'],
  ['e', 'ΕЕеҽҿ'],
  ['f', 'Ϝ'],
  ['g', 'Ԍ'],
  ['h', 'ΗНћҢһӇӉꚕ'],
  ['i', 'ͺιіιꙇ'],
  ['j', 'ͿϳЈј'],
  ['k', 'ΚКҚҞ'],
  ['l', 'ΙІӀӏ'],
  ['lo', 'Ю'],
  ['m', 'ΜϺМӍ'],
  ['n', 'Νη'],
  ['o', 'ΘΟθοσϑϴОоѲѳӨө'],
  ['oo', 'Ꚙꚙ'],
  ['p', 'ΡρϱϸРр'],
  ['q', 'ԛ'],
  ['r', 'гғᴦ'],
  ['s', 'Ѕѕ'],
  ['t', 'ΤТҬ'],
  ['u', 'υџ'],
  ['v', 'νѴѵ'],
  ['w', 'шѡѽԜԝ'],
  ['x', 'ΧХхҲ'],
  ['y', 'ΥγϒУуҮүҰұ'],
  ['z', 'Ζ'],
];
const LATIN_OF: ReadonlyMap<string, string> = new Map(
  LOOKALIKES.flatMap(([latin, letters]) => [...letters].map((letter) => [letter, latin] as const)),
);
const GREEK_OR_CYRILLIC = /[\p{Script=Greek}\p{Script=Cyrillic}]/gu;
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/**
 * Equal for two symbols that look alike: without letter case, accents, full-width and invisible characters, with Latin
 * letters for those of Greek and Cyrillic that look like them, and as confusables.txt has it with `o` for `0`, and
 * with `l` for `1` and `i`. Only for symbols, which are short, and never to be shown.
 */
export function lookalikeKey(symbol: string): string {
  // Before the letter case is dropped: "Ν" looks like "N", but "ν" like "v". Twice: NFKD splits letters from their
  // accents, but also makes a sigma of "ϲ".
  const decomposed = withLatin(symbol.replace(INVISIBLE, '')).normalize('NFKD');
  return foldText(withLatin(decomposed)).replaceAll('0', 'o').replace(/[1i]/g, 'l').trim();
}

/** A small letter that is not in the table, such as "т", looks like its capital. */
function withLatin(text: string): string {
  return text.replace(
    GREEK_OR_CYRILLIC,
    (letter) => LATIN_OF.get(letter) ?? LATIN_OF.get(letter.toUpperCase()) ?? letter,
  );
}
