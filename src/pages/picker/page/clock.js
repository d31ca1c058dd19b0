import { make, say } from './dom.js';
import { ageText } from './text.js';

/** Below this, a difference between the clocks is no more than the answer's way and the rounding of its date. */
const SAME_MS = 2000;

/** How far the gateway's clock is ahead of this one, by which all ages would be wrong. */
let aheadMs = 0;

/**
 * Sets the clock by an answer of the gateway.
 *
 * @param {Response} response
 */
export function setClock({ headers }) {
  const difference = Date.parse(headers.get('date') ?? '') - Date.now();
  if (!Number.isNaN(difference)) aheadMs = Math.abs(difference) < SAME_MS ? 0 : difference;
}

/**
 * A time as its age, such as "12 s ago", which goes on by itself.
 *
 * @param {string} iso
 * @param {string} [word]
 */
export function age(iso, word = 'ago') {
  const made = make('time', { datetime: iso, 'data-word': word, title: new Date(iso).toLocaleString() });
  show(made);
  return made;
}

setInterval(() => {
  if (document.visibilityState !== 'visible') return;
  for (const time of document.querySelectorAll('time')) show(time);
}, 1000);

/** @param {HTMLTimeElement} time */
function show(time) {
  say(time, `${ageText(Date.now() + aheadMs - Date.parse(time.dateTime))} ${time.dataset.word}`);
}
