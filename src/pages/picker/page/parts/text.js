const AROUND_ONE = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' });
const BELOW_ONE = new Intl.NumberFormat('en', {
  style: 'currency',
  currency: 'USD',
  minimumFractionDigits: 2,
  maximumFractionDigits: 4,
});
const SMALL = new Intl.NumberFormat('en', {
  style: 'currency',
  currency: 'USD',
  maximumSignificantDigits: 4,
});
const HUGE = new Intl.NumberFormat('en', {
  style: 'currency',
  currency: 'USD',
  notation: 'compact',
  maximumFractionDigits: 2,
});
const WHOLE = new Intl.NumberFormat('en');

/** Smaller prices are not written out: nobody compares their digits. */
const SMALLEST_USD = 1e-7;
/** Characters of an address that a short form keeps. */
const HEAD = 6;
const TAIL = 4;

/**
 * Formats a price with as many digits as matter.
 *
 * @param {number} usd
 */
export function priceText(usd) {
  const size = Math.abs(usd);
  if (size >= 1e7) return HUGE.format(usd);
  if (size >= 0.995 || size === 0) return AROUND_ONE.format(usd);
  if (size >= 0.1) return BELOW_ONE.format(usd);
  return size >= SMALLEST_USD ? SMALL.format(usd) : '<$0.0000001';
}

/**
 * Formats an age in the largest unit that fits.
 *
 * @param {number} ms
 */
export function ageText(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/**
 * Formats a count, such as "1 token" and "1,204 tokens".
 *
 * @param {number} count
 * @param {string} one
 */
export function countText(count, one) {
  return `${WHOLE.format(count)} ${one}${count === 1 ? '' : 's'}`;
}

/**
 * Shortens an address, such as 0x8335…2913. One that is hardly longer stays whole.
 *
 * @param {string} address
 */
export function shortAddress(address) {
  return address.length <= HEAD + TAIL + 4 ? address : `${address.slice(0, HEAD)}…${address.slice(-TAIL)}`;
}
