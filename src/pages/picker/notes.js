/** The texts above the rows: how much was found, the ways out of an empty result, warnings, and failures. */
import { button, byId, hasMouse, make, say, tell } from './dom.js';
import { whyNot } from './rows.js';
import { countText, markedText, shortAddress } from './text.js';

/** @typedef {import('./queries.js').Token} Token */
/** @typedef {import('./queries.js').TokenPage} TokenPage */
/**
 * A search that was answered.
 *
 * @typedef {object} Result
 * @property {string} query
 * @property {Token | undefined} source the token whose destinations were searched
 * @property {import('./queries.js').TokenFilter} filter
 * @property {TokenPage} found the first page of tokens that can be moved or reached
 * @property {TokenPage | undefined} others the first page of tokens that are only listed, unless it is fetched later
 * @property {Token | undefined} meant see `meantOf`
 */

/**
 * @param {object} options
 * @param {(text: string) => void} options.onSearch called to search for another text
 * @param {() => void} options.onAllChains
 * @param {() => void} options.onRetry
 */
export function createNotes({ onSearch, onAllChains, onRetry }) {
  const status = byId('found');
  const note = byId('note');
  const fault = byId('fault');

  /** @param {Result} result */
  function describe({ query, source, filter, found, others, meant }) {
    const onlyListed = others?.totalCount;
    const typed = query && `“${markedText(query.length > 24 ? shortAddress(query) : query)}”`;
    const all = countText(found.totalCount + (onlyListed ?? 0), 'token') + (typed && ` for ${typed}`);
    const ofThese = onlyListed ? `, ${found.totalCount}` : '';
    say(
      status,
      source
        ? `${countText(found.totalCount, 'place')} for ${markedText(source.symbol)}${typed && ` and ${typed}`}`
        : all + (onlyListed === 0 ? '' : `${ofThese} can be moved`),
    );
    // Enter makes it a warning in the same place.
    note.replaceChildren(
      ...(meant && found.totalCount ? [make('span', { class: 'label' }, whyNot(meant, source))] : []),
    );
    // The tokens that are only listed follow below, under a heading with the reason.
    if (found.totalCount > 0 || !others || (onlyListed && !source)) return;
    if (source && !query && !filter.chainKeys)
      note.append('The service lists nothing that this token can be moved to. ');
    else note.append(onlyListed ? 'None of these can be reached. ' : 'No listed token matches. ');
    // "usdc" and "USDC" find the same.
    const texts = [...others.didYouMean, ...found.didYouMean].map((text) => [text.toLowerCase(), text]);
    for (const text of Object.values(Object.fromEntries(texts)).slice(0, 3))
      note.append(button(`Did you mean ${markedText(text)}?`, () => onSearch(text)));
    if (filter.chainKeys) note.append(button('Search all chains', onAllChains));
    if (query) note.append(button('Clear the search', () => onSearch('')));
  }

  /** Adds a warning above the rows. @param {string} text */
  function warn(text) {
    note.querySelector('.warning')?.remove();
    note.prepend(make('span', { class: 'warning' }, text));
    tell(text);
  }

  return {
    describe,
    warn,
    /** Shows nothing but a warning. @param {string} text */
    warnOnly(text) {
      note.replaceChildren();
      warn(text);
    },
    /** @param {unknown} error @param {boolean} hasRows whether rows of an earlier search are shown */
    fail(error, hasRows) {
      const text = error instanceof Error ? error.message : String(error);
      // Otherwise screen readers would announce the same failure after each attempt.
      if (fault.querySelector('p')?.textContent !== text)
        fault.replaceChildren(make('p', {}, text), button('Try again', onRetry));
      say(status, hasRows ? 'Earlier results, not updated.' : '');
    },
    succeed() {
      // The button "Try again", which disappears now, may have the focus.
      if (hasMouse && fault.contains(document.activeElement)) byId('search').focus();
      fault.replaceChildren();
    },
    clear() {
      note.replaceChildren();
      say(status, '');
    },
  };
}
