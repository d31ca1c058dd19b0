/**
 * Characters that cannot be seen, that look like a plain space without being one, or that turn the writing direction.
 * Emoji need two of them, so those are left alone between the parts of an emoji.
 */
const UNSEEN =
  /(?!(?<=\p{Extended_Pictographic})\uFE0F|(?<=\p{Extended_Pictographic}\uFE0F?)\u200D(?=\p{Extended_Pictographic}))(?:[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs})/gu;

/**
 * Splits a text at its unseen characters.
 *
 * @param {string} text
 * @returns {{ text: string, isMark: boolean }[]} parts in their order; a mark is the name of one such character, such as "U+202E"
 */
export function markedParts(text) {
  const parts = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(UNSEEN)) {
    if (index > end) parts.push({ text: text.slice(end, index), isMark: false });
    const code = character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
    parts.push({ text: `U+${code}`, isMark: true });
    end = index + character.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isMark: false });
  return parts;
}

/**
 * The text with unseen characters written out in brackets, for places that cannot hold elements.
 *
 * @param {string} text
 */
export function markedText(text) {
  return markedParts(text)
    .map(({ text, isMark }) => (isMark ? `[${text}]` : text))
    .join('');
}

/**
 * The first character of a text that can be seen.
 *
 * @param {string} text
 */
export function initialOf(text) {
  const seen = markedParts(text).find((part) => !part.isMark && part.text.trim() !== '');
  return [...(seen?.text.trim() ?? '')][0] ?? '?';
}
