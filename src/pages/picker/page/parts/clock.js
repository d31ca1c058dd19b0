import { make, say } from './dom.js';
import { ageText } from './text.js';

/** A smaller difference between the clocks comes from network delay and from the rounding of the Date header. */
const SAME_MS = 2000;

/** How far the gateway's clock is ahead of this one; ages are corrected by it. */
let aheadMs = 0;

/**
 * Sets the clock by the Date header of a response from the gateway.
 *
 * @param {Response} response
 */
export function setClock({ headers }) {
  const difference = Date.parse(headers.get('date') ?? '') - Date.now();
  if (!Number.isNaN(difference)) aheadMs = Math.abs(difference) < SAME_MS ? 0 : difference;
}

/**
 * An element that shows the age of a time, such as "12 s ago", and keeps it current.
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
