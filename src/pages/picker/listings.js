/** The status of the listings: a line that turns amber when something is wrong, and the table that it opens. */
import { afterPaint, age, byId, make } from './dom.js';
import { ask, QueryError, reasonFor, UNREACHABLE } from './graph.js';
import { LISTINGS } from './queries.js';
import { countText } from './text.js';

/** The pause between two polls: a third of the time in which the token listing is refreshed by default. */
const POLL_MS = 10_000;
/** While something is missing, the longest pause between two polls. The first pause is a quarter of it. */
const POLL_SOON_MS = 2000;
/** How the sentence about old prices begins. */
const OLD_PRICES = 'Prices are ';

/** @typedef {import('./queries.js').Listing} Listing */

/**
 * Shows the status of the listings, and polls it while the page is visible.
 *
 * @param {(listings: Listing[]) => Promise<void>} onAnswer
 * @returns {() => void} to call when another request has failed: polls now, or soon after the poll that is running
 */
export function watchListings(onAnswer) {
  const line = byId('state');
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let next;
  let isPolling = false;
  let isWell = true;
  let pause = POLL_SOON_MS / 8;

  async function poll() {
    clearTimeout(next);
    isPolling = isWell = true;
    try {
      /** @type {Listing[]} */
      const listings = (await ask(LISTINGS, {})).listings;
      // Only sentences about old listings have several parts. If both listings are old, the line names only the prices.
      const wrong = new Map(listings.flatMap(wrongOf).map((one) => [one.length > 1 ? 'old' : one[0], one]));
      show([...wrong.values()], listings);
      isWell = listings.every(({ state }) => state !== 'EMPTY');
      await onAnswer(listings);
    } catch (error) {
      isWell = false;
      if (error instanceof QueryError && error.code === UNREACHABLE) show([[reasonFor(error.code) ?? '']]);
    }
    clearTimeout(next);
    isPolling = false;
    pause = isWell ? POLL_SOON_MS / 8 : Math.min(2 * pause, POLL_SOON_MS);
    if (document.visibilityState === 'visible') next = setTimeout(poll, isWell ? POLL_MS : pause);
  }

  /** @param {(Node | string)[][]} wrong @param {Listing[]} [listings] */
  function show(wrong, listings) {
    line.classList.toggle('warned', wrong.length > 0);
    byId('prices').classList.toggle(
      'warning',
      wrong.some(([first]) => first === OLD_PRICES),
    );
    const { takenAt, state } = listings?.find(({ name }) => name === 'tokens') ?? {};
    const parts =
      wrong.length > 0
        ? wrong.flatMap((one) => [...one, ' '])
        : [state === 'STALE' ? 'being refreshed, ' : 'fresh, ', ...(takenAt ? [age(takenAt)] : []), ' old'];
    line.replaceChildren(make('span', {}, ...parts));
    if (listings) byId('listings').replaceChildren(...listings.map(rowOf));
  }

  // Focusable, so that it can be scrolled without a mouse: on a phone it scrolls.
  byId('table').tabIndex = 0;
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void poll();
  });
  // A tab in the background does not paint, but loads rows: at its first view, they are compared with this poll.
  if (document.hidden) void poll();
  else afterPaint(poll);
  return () => {
    isWell = false;
    if (!isPolling) void poll();
  };
}

/** A sentence for each problem of a listing. @param {Listing} listing @returns {(Node | string)[][]} */
function wrongOf({ name, state, takenAt, heldBackRows, lastFailure }) {
  const isFailing = lastFailure && Date.parse(lastFailure.at) >= Date.parse(takenAt ?? lastFailure.at);
  const why = isFailing ? reasonFor(lastFailure.code) : '';
  const contradicted = countText(heldBackRows, name.slice(0, -1));
  return [
    ...(takenAt && state === 'STALE' && why
      ? [[name === 'tokens' ? OLD_PRICES : `The ${name} are `, age(takenAt), ' old.'], [why]]
      : []),
    ...(takenAt ? [] : [[why || `The list of ${name} is not loaded yet.`]]),
    ...(heldBackRows > 0 ? [[`The service sends other values for ${contradicted}: see the warnings.`]] : []),
  ];
}

/** @param {Listing} listing */
function rowOf({ name, source, state, takenAt, rows, rejectedRows, heldBackRows, lastFailure }) {
  const failed = lastFailure ? [lastFailure.code, ', ', age(lastFailure.at), ' ago'] : ['none'];
  const cells = [
    [state.toLowerCase()],
    takenAt ? [age(takenAt)] : ['none'],
    [String(rows)],
    [String(rejectedRows)],
    [String(heldBackRows)],
    [source],
    failed,
  ];
  return make('tr', {}, make('th', { scope: 'row' }, name), ...cells.map((cell) => make('td', {}, ...cell)));
}
