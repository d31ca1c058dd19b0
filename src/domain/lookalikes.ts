/** Finds symbols that look alike: in letters of another alphabet, a worthless token can look like a valuable one. */
import { foldText } from './fold-text.js';

/**
 * Each Latin text with the Greek and Cyrillic letters that look like it. These are all such letters in confusables.txt
 * of Unicode 17.0.0 (UTS #39); accents of look-alikes are ignored.
 */
const LOOKALIKES = `
  2 Ꙅ | 3 ЗҘӠ | 6 б | a ΑαАа | ae Ӕӕ | b ΒБВЬѢѣҌҍ | bl Ы | c ϲϹСсҪҫ
  d ԁ | e ΕЕеҽҿ | f Ϝ | g Ԍ | h ΗНћҢһӇӉꚕ | i ͺιіιꙇ | j ͿϳЈј | k ΚКҚҞ
  l ΙІӀӏ | lo Ю | m ΜϺМӍ | n Νη | o ΘΟθοσϑϴОоѲѳӨө | oo Ꚙꚙ | p ΡρϱϸРр
  q ԛ | r гғᴦ | s Ѕѕ | t ΤТҬ | u υџ | v νѴѵ | w шѡѽԜԝ | x ΧХхҲ
  y ΥγϒУуҮүҰұ | z Ζ
`;
const LATIN_OF: ReadonlyMap<string, string> = new Map(
  LOOKALIKES.split(/[|\n]/).flatMap((entry) => {
    const [latin = '', letters = ''] = entry.trim().split(' ');
    return [...letters].map((letter) => [letter, latin] as const);
  }),
);
const GREEK_OR_CYRILLIC = /[\p{Script=Greek}\p{Script=Cyrillic}]/gu;
/** Invisible characters, and spaces of any width: some are too thin to see. U+2800 is Braille without dots. */
export const INVISIBLE = /[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * A text that is equal for symbols that look alike. It has no letter case, accents, white space or invisible
 * characters. Greek and Cyrillic letters become the Latin ones that they look like. As in confusables.txt, `0` becomes
 * `o`, and `1` and `I` become `l`; so `i` becomes `l`, too, because letter case is ignored. Only for symbols, which are
 * short. Never show it.
 */
export function lookalikeKey(symbol: string): string {
  // Letters are replaced before the change to lower case, because "Ν" looks like "N", but "ν" like "v". They are
  // replaced before NFKD, which turns "ϲ" into a sigma, and again after it, for letters that had accents.
  const decomposed = withLatin(symbol.replace(INVISIBLE, '')).normalize('NFKD');
  return foldText(withLatin(decomposed)).replace(INVISIBLE, '').replaceAll('0', 'o').replace(/[1i]/g, 'l');
}

/** Replaces Greek and Cyrillic letters. A small letter that is not in the table, such as "т", looks like its capital. */
function withLatin(text: string): string {
  return text.replace(
    GREEK_OR_CYRILLIC,
    (letter) => LATIN_OF.get(letter) ?? LATIN_OF.get(letter.toUpperCase()) ?? letter,
  );
}
