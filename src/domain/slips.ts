/**
 * Whether one text becomes the other by one slip of a person who types: two neighbouring letters swapped, or one
 * letter too many, too few, or another one. Equal texts do not differ by a slip.
 *
 * @param from where `meant` begins in its text, and `length` how long it is; by default it is the whole text
 */
export function isOneSlip(typed: string, meant: string, from = 0, length = meant.length): boolean {
  const shorter = Math.min(typed.length, length);
  if (Math.max(typed.length, length) - shorter > 1) return false;
  let start = 0;
  while (start < shorter && typed.charCodeAt(start) === meant.charCodeAt(from + start)) start++;
  let end = 0;
  while (
    end < shorter - start &&
    typed.charCodeAt(typed.length - 1 - end) === meant.charCodeAt(from + length - 1 - end)
  ) {
    end++;
  }
  const ofTyped = typed.length - start - end;
  const ofMeant = length - start - end;
  if (ofTyped <= 1 && ofMeant <= 1) return ofTyped + ofMeant > 0;
  const first = from + start;
  return (
    ofTyped === 2 &&
    ofMeant === 2 &&
    typed.charCodeAt(start) === meant.charCodeAt(first + 1) &&
    typed.charCodeAt(start + 1) === meant.charCodeAt(first)
  );
}
