/** Normalises and compares texts that people type. */

/** Printable ASCII, the characters of most texts: folding changes only their letter case. */
const PLAIN = /^[ -~]*$/;

/** Normalises a text for comparison: plain letters in lower case, without accents and invisible characters. */
export function foldText(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return (
    narrowText(text)
      .toLowerCase()
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      // Currency signs that symbols use in place of letters.
      .replaceAll('₮', 't')
      .replaceAll('₿', 'b')
  );
}

/** Replaces full-width and similar forms of letters with ordinary ones (NFKC), and removes invisible characters. */
export function narrowText(text: string): string {
  return text.normalize('NFKC').replace(/\p{Cf}/gu, '');
}

/** Whether one typo separates the texts: neighbouring letters swapped, or one added, left out or replaced. */
export function isOneTypo(typed: string, meant: string): boolean {
  const shorter = Math.min(typed.length, meant.length);
  if (Math.max(typed.length, meant.length) - shorter > 1) return false;
  let start = 0;
  while (start < shorter && typed[start] === meant[start]) start++;
  let end = 0;
  while (end < shorter - start && typed.at(-1 - end) === meant.at(-1 - end)) end++;
  const ofTyped = typed.length - start - end;
  const ofMeant = meant.length - start - end;
  if (ofTyped <= 1 && ofMeant <= 1) return ofTyped + ofMeant > 0;
  return (
    ofTyped === 2 && ofMeant === 2 && typed[start] === meant[start + 1] && typed[start + 1] === meant[start]
  );
}
