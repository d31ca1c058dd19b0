/** Currency signs that symbols use in place of letters. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ['₮', 't'],
  ['₿', 'b'],
]);
/** ASCII: lower case is all that it needs. Most texts are. */
const PLAIN = /^[ -~]*$/;

/** Normalises a text for comparison: lower case, without accents, full-width letters and invisible characters. */
export function foldText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return narrowText(text)
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[₮₿]/g, (letter) => LOOK_ALIKES.get(letter) ?? letter);
}

/** Replaces full-width letters with ordinary ones, and removes invisible characters. */
export function narrowText(text: string): string {
  return text.normalize('NFKC').replace(/\p{Cf}/gu, '');
}
