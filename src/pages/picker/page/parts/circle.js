import { make } from './dom.js';
import { initialOf } from './marks.js';

/** Whether the operator lets the page load pictures from other hosts. */
const hasLogos = document.body.dataset.logos === 'true';
/** Pictures that could not be loaded; they are not tried again. */
const broken = new Set();

/**
 * The circle before a token: its logo if there is one and the operator allows it, otherwise its initial in a colour
 * that depends on the symbol alone.
 *
 * @param {{ symbol: string, logoUrl: string | null }} token
 */
export function circle({ symbol, logoUrl }) {
  const made = make('span', { class: 'circle', 'aria-hidden': 'true', 'data-initial': initialOf(symbol) });
  made.style.setProperty('--hue', String(hueOf(symbol)));
  if (!hasLogos || !logoUrl?.startsWith('https:') || broken.has(logoUrl)) return made;
  const picture = make('img', { alt: '', loading: 'lazy', decoding: 'async', referrerpolicy: 'no-referrer' });
  picture.addEventListener('error', () => {
    broken.add(logoUrl);
    picture.remove();
  });
  picture.src = logoUrl;
  made.append(picture);
  return made;
}

/** @param {string} symbol */
function hueOf(symbol) {
  let sum = 0;
  for (const character of symbol.toLowerCase()) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 9973;
  // Neighbouring sums must not get neighbouring hues.
  return Math.round((sum * 137.508) % 360);
}
