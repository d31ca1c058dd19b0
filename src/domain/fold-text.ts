/** Letters that stand for others in symbols. */
const LOOK_ALIKES: ReadonlyMap<string, string> = new Map([
  ['₮', 't'],
  ['₿', 'b'],
]);
/** Most texts are plain ASCII, and need no more than lower case. */
const PLAIN = /^[ -~]*$/;

/** The form in which two spellings of one text are equal: narrow, lower case, without accents and invisible characters. */
export function foldText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return narrowText(text)
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[₮₿]/g, (letter) => LOOK_ALIKES.get(letter) ?? letter);
}

/** The text with full-width letters made narrow, and without invisible characters. */
export function narrowText(text: string): string {
  return text.normalize('NFKC').replace(/\p{Cf}/gu, '');
}
