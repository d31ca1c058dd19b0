import { showError } from '../graph.js';
import { age } from '../parts/clock.js';
import { byId, make } from '../parts/dom.js';
import { countText } from '../parts/text.js';
import { LISTINGS } from '../queries.js';

const POLL_MS = 10_000;
/** While a listing is missing or the gateway does not answer. */
const POLL_SOON_MS = 3_000;

/** @typedef {import('../queries.js').ListingStatus} ListingStatus */

/**
 * Shows the status of the listings, and polls it while the page is visible.
 *
 * @param {import('../graph.js').Ask} ask
 * @param {(listings: ListingStatus[]) => void} onAnswer
 */
export function watchListings(ask, onAnswer) {
  const fault = byId('listings-fault', HTMLElement);
  const rows = byId('listings', HTMLElement);
  const failures = byId('failures', HTMLElement);
  const line = byId('state', HTMLElement);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let next;

  async function poll() {
    clearTimeout(next);
    let isWell = false;
    try {
      const { listings } = await ask(LISTINGS, {}, { quiet: true });
      isWell = listings.every(({ state }) => state !== 'EMPTY');
      showError(fault);
      show(listings);
      onAnswer(listings);
    } catch (error) {
      showError(fault, error, poll);
    }
    clearTimeout(next);
    if (document.visibilityState === 'visible') next = setTimeout(poll, isWell ? POLL_MS : POLL_SOON_MS);
  }

  /** @param {ListingStatus[]} listings */
  function show(listings) {
    line.replaceChildren(...listings.toReversed().flatMap(stateOf));
    rows.replaceChildren(...listings.map(row));
    for (const { name, lastFailure } of listings) {
      const id = `failure-of-${name}-${lastFailure?.at}`;
      // Keep an element that is already there: a person may have opened it.
      if (document.getElementById(id)) continue;
      document.querySelector(`[id^="failure-of-${name}-"]`)?.remove();
      if (lastFailure) failures.append(failure(id, name, lastFailure));
    }
  }

  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') poll();
  });
  poll();

  return {
    /** Polls soon, to notice when what is missing is back. */
    lookSoon() {
      clearTimeout(next);
      next = setTimeout(poll, POLL_SOON_MS);
    },
  };
}

/**
 * What a person who chooses a token must know about a listing: the age of prices, and what is wrong.
 *
 * @param {ListingStatus} listing
 */
function stateOf({ name, state, takenAt, heldBackRows }) {
  const title = name === 'tokens' ? 'Prices' : 'Chains';
  if (!takenAt) return [warned(`The listing of ${name} is not there yet. `)];
  const isFresh = state !== 'STALE';
  return [
    ...(isFresh ? [] : [warned(`Not up to date: ${title.toLowerCase()} from `, age(takenAt), '. ')]),
    ...(isFresh && name === 'tokens' ? [make('span', {}, `${title} from `, age(takenAt)), ' '] : []),
    ...(heldBackRows > 0
      ? [warned(`The upstream contradicts ${countText(heldBackRows, name.slice(0, -1))}: see the marks. `)]
      : []),
  ];
}

/** @param {...(Node | string)} text */
function warned(...text) {
  return make('span', { class: 'warned' }, ...text);
}

/** @param {ListingStatus} listing */
function row({ name, source, state, takenAt, rows, rejectedRows }) {
  return make(
    'tr',
    {},
    make('th', { scope: 'row' }, name),
    make('td', {}, make('span', { class: `state ${state.toLowerCase()}` }, state)),
    make('td', {}, ...(takenAt ? [age(takenAt, 'old')] : ['none'])),
    make('td', {}, String(rows)),
    make('td', {}, String(rejectedRows)),
    make('td', {}, source),
  );
}

/**
 * @param {string} id
 * @param {string} name
 * @param {import('../queries.js').ListingFailure} failure
 */
function failure(id, name, { code, message, at }) {
  return make(
    'details',
    { id },
    make('summary', {}, `Last failure of ${name}, `, age(at)),
    make('p', {}, `${message} `, make('code', {}, code)),
  );
}
