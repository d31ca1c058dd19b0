/** Formats numbers, ages and names for people, and compares names. It does not use the DOM, so that tests can run it without a browser. */

/** @typedef {import('./queries.js').Token} Token */

// `Intl.NumberFormat` is not used: making the first formatters blocks the page for 40 ms.
/** Rounds to at most `digits` decimals, keeps at least two of them, and groups thousands. */
const decimalText = (/** @type {number} */ value, digits = 2) => {
  const [whole = '', decimals = ''] = value.toFixed(digits).split('.');
  const kept = decimals.slice(0, 2) + decimals.slice(2).replace(/0+$/, '');
  return whole.replace(/\B(?=(?:\d{3})+$)/g, ',') + (kept && `.${kept}`);
};

/** Formats a price with as many digits as matter. @param {number} usd zero or more */
export function priceText(usd) {
  if (usd >= 0.99995 || usd === 0) return `$${decimalText(usd)}`;
  if (usd >= 0.1) return `$${decimalText(usd, 4)}`;
  return usd >= 1e-7 ? `$${decimalText(Number(usd.toPrecision(4)), 10)}` : '<$0.0000001';
}

/** Formats an age in the largest unit that fits. @param {number} ms */
export function ageText(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Writes a count with its noun, such as "1 token" or "1,204 tokens". @param {number} count @param {string} one */
export function countText(count, one) {
  return `${decimalText(count, 0)} ${one}${count === 1 ? '' : 's'}`;
}

/** The time and the size of an answer. @param {number} tookMs @param {string} text @returns {[string, string]} */
export function factsOf(tookMs, text) {
  return [
    `${Math.max(1, Math.round(tookMs))} ms`,
    `${(new TextEncoder().encode(text).length / 1000).toFixed(1)} kB`,
  ];
}

/** Shortens an address, such as to 0x8335…2913. Addresses that are hardly longer stay whole. @param {string} address */
export function shortAddress(address) {
  return address.length <= 14 ? address : `${address.slice(0, 6)}…${address.slice(-4)}`;
}

/**
 * Characters that are invisible, that look like a plain space, or that change the writing direction.
 * Emoji need two of these characters, so they are allowed within most emoji.
 */
export const UNSEEN =
  /(?!(?<=\p{Extended_Pictographic})\uFE0F|(?<=\p{Extended_Pictographic}\uFE0F?)\u200D(?=\p{Extended_Pictographic}))(?:[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs})/gu;

/**
 * Splits a text at its invisible characters.
 *
 * @param {string} text
 * @returns {{ text: string, isMark: boolean }[]} in order; a mark is the name of one such character, such as "U+202E"
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
 * The text with invisible characters written out, for places that cannot contain elements. After letters that are
 * written from right to left comes a mark: otherwise a number that follows would be shown on their other side.
 *
 * @param {string} text
 */
export function markedText(text) {
  const shown = markedParts(text).map(({ text, isMark }) => (isMark ? `[${text}]` : text));
  return shown.join('') + (/[\u0590-\u08ff]/.test(text) ? '\u200e' : '');
}

/** The first visible character of a text. @param {string} text */
export function firstCharacter(text) {
  const seen = markedParts(text).find((part) => !part.isMark && part.text.trim() !== '');
  return [...(seen?.text.trim() ?? '?')][0] ?? '';
}

/**
 * Whether a symbol may have letters that look like others: Latin beside another script, or Greek or Cyrillic.
 *
 * @param {string} symbol
 */
export function isMixed(symbol) {
  return (
    /[\p{Script=Greek}\p{Script=Cyrillic}]/u.test(symbol) ||
    (/\p{Script=Latin}/u.test(symbol) && /(?!\p{Script=Latin})\p{L}/u.test(symbol))
  );
}

/** Latin letters, each before the letters that look like it. A small letter that is not here looks like its capital. */
const LOOKALIKES =
  '2Ꙅ 3ЗҘӠ 6б aΑА aeӔ bΒБВЬѢҌ₿ blЫ cϹСҪ dԁ eΕЕҽҿ fϜ gԌ hΗНћҢһӇӉꚕ lͺꙇΙІӀ jͿЈ kΚКҚҞ loЮ mΜϺМӍ nΝη oΘΟσОѲӨ ooꚘ pΡϸР qԛ rгғᴦ sЅ tΤТҬ₮ uυџ vνѴ wшѡѽԜ xΧХҲ yΥγУҮҰ zΖ';

/** Replaces letters that look like Latin ones. Marks such as accents stay. @param {string} text */
function latinOf(text) {
  const find = (/** @type {string} */ letter) => new RegExp(`(\\w+)\\S*${letter}`).exec(LOOKALIKES)?.[1];
  return text.replaceAll(/[^ -~\p{M}]/gu, (letter) => find(letter) ?? find(letter.toUpperCase()) ?? letter);
}

/**
 * A key that is equal for tokens whose symbols and names of chains look alike, as the gateway compares symbols: see
 * `domain/lookalikes.ts`.
 *
 * @param {Pick<Token, 'chain' | 'chainKey' | 'symbol'>} token
 */
export function lookOf({ chain, chainKey, symbol }) {
  // NFKD changes some letters into others, and splits accents off: letters are replaced before it and after it.
  const latin = latinOf(latinOf(`${chain?.name || chainKey}/${symbol}`).normalize('NFKD'));
  const lower = latin.toLowerCase().normalize('NFKD');
  const plain = lower.replaceAll(UNSEEN, '').replaceAll(/[\p{M}\s]/gu, '');
  return plain.replaceAll('0', 'o').replaceAll(/[1i]/g, 'l');
}

/**
 * Finds the words of a search in a text.
 *
 * @param {string} text
 * @param {string} query
 * @returns {string[]} the text in parts; the second, the fourth and so on are matches
 */
export function matchedParts(text, query) {
  const words = query.split(/\s+/).filter(Boolean).slice(0, 8);
  if (words.length === 0) return [text];
  // These characters have a meaning in regular expressions. To escape any other one would be an error.
  const escaped = words.map((word) => word.replaceAll(/[$(-+.?[-^{-}]/g, '\\$&'));
  return text.split(new RegExp(`(${escaped.join('|')})`, 'iu'));
}

/**
 * Splits an address at the characters in which it differs from others. In hex addresses the letter case does not count.
 *
 * @param {string} address
 * @param {string[]} others
 * @returns {string[]} the address in parts; the second, the fourth and so on differ
 */
export function differingParts(address, others) {
  const [own = [], ...rest] = [address, ...others].map((one) => [
    ...(/^0x[\da-f]+$/i.test(one) ? one.toLowerCase() : one),
  ]);
  const parts = [''];
  for (const [at, character] of [...address].entries()) {
    const differs = rest.some((other) => other[at] !== own[at]);
    const isInDiffering = parts.length % 2 === 0;
    if (differs !== isInDiffering) parts.push('');
    parts[parts.length - 1] += character;
  }
  return parts;
}

/**
 * The token that was probably meant, if it cannot be chosen. Either its symbol or name was typed, and no token that can
 * be chosen has this symbol or name; or it is the native asset of the chain that was typed. In the slot To, the name of
 * a chain means any token on it.
 *
 * @param {string} query
 * @param {Token[]} found the tokens that can be chosen, the best match first
 * @param {Token[]} others the tokens that are only listed
 * @param {boolean} isFrom whether the search is for the slot From
 * @returns {Token | undefined}
 */
export function meantOf(query, found, others, isFrom) {
  const typed = query.toLowerCase();
  const isTyped = (/** @type {Token} */ { symbol, name }) =>
    typed.split(/\s+/).includes(symbol.toLowerCase()) || (isFrom && typed === name.toLowerCase());
  const [first] = found;
  const ofChain = isFrom && !first?.isNative ? first?.chainKey : undefined;
  if (found.some(isTyped)) return undefined;
  return others.find((token) => isTyped(token) || (token.isNative && token.chainKey === ofChain));
}
