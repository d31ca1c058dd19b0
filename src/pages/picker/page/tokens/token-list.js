import { isCancelled, showError } from '../graph.js';
import { byId, say } from '../parts/dom.js';
import { createListKeys } from '../parts/list-keys.js';
import { badges, priceOf, tellingAddresses, tokenRow, updateRow } from '../parts/token-row.js';
import { TOKENS } from '../queries.js';
import { NONE, textOf, withoutRepeats } from './found.js';
import { createNothingFound } from './nothing-found.js';

const PAGE_SIZE = 50;
/** Longer lists are not refreshed. */
const MAX_REFRESHED_PAGES = 4;
/** How long to wait after a key press before searching (milliseconds). */
const TYPING_MS = 120;
/** How long rows of an older search may stay as they are; dimming them for every fast answer would flicker. */
const UNDIMMED_MS = 200;

/** @typedef {import('../queries.js').Token} Token */
/** @typedef {import('./found.js').Found} Found */

/**
 * The search box and the list of tokens that it controls.
 *
 * @param {object} options
 * @param {import('../graph.js').Ask} options.ask
 * @param {() => import('../queries.js').TokensFilter} options.filter
 * @param {(token: Token) => void} options.onChoose
 * @param {() => void} options.onChange called when the text of the search changes
 * @param {() => void} options.onAllChains
 * @param {() => void} options.onUnmovable
 * @param {() => void} options.onFailure
 */
export function createTokenList({ ask, filter, onChoose, onChange, onAllChains, onUnmovable, onFailure }) {
  const box = byId('search', HTMLInputElement);
  const list = byId('tokens', HTMLElement);
  const status = byId('found', HTMLElement);
  const fault = byId('tokens-fault', HTMLElement);
  const more = byId('more', HTMLElement);
  const moreButton = byId('load-more', HTMLButtonElement);
  const nothing = createNothingFound({ onQuery: search, onAllChains, onUnmovable });

  /** @type {Found | undefined} what is shown */
  let found;
  let chosenId = '';
  /** @type {(() => Promise<void>) | undefined} repeats the query that failed last */
  let failed;
  /** @type {'find' | 'more' | 'refresh' | undefined} */
  let doing;
  let fetching = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let dimming;
  /** Resolves when the newest search has succeeded or failed. */
  let settled = Promise.resolve();

  const keys = createListKeys({
    box,
    list,
    onEnd: loadMore,
    onEnter: chooseActive,
    onPress: (index) => {
      const token = found?.tokens[index];
      if (token) choose(token);
    },
    onEscape: clear,
  });

  /**
   * Fetches pages one after another and shows their rows after those of `start`. Until then, and if it fails, the
   * list stays as it is. Cancels any earlier fetch.
   *
   * @param {'find' | 'more' | 'refresh'} what
   * @param {Found} start
   * @param {number} pages
   */
  async function fetchPages(what, start, pages) {
    fetching.abort();
    fetching = new AbortController();
    const { signal } = fetching;
    doing = what;
    if (what === 'find') dimSoon();
    list.ariaBusy = 'true';
    try {
      let next = start;
      for (let page = 0; page < pages && (page === 0 || next.cursor); page++) {
        const { search, cursor } = next;
        const variables = cursor === undefined ? search : { ...search, after: cursor };
        const { tokenSearch } = await ask(TOKENS, variables, { signal, quiet: what === 'refresh' });
        if (!tokenSearch) break;
        const { nodes, pageInfo, totalCount, didYouMean } = tokenSearch;
        next = {
          search,
          tokens: withoutRepeats([...next.tokens, ...nodes]),
          totalCount,
          didYouMean,
          cursor: pageInfo.hasNextPage ? (pageInfo.endCursor ?? undefined) : undefined,
        };
      }
      failed = undefined;
      undim();
      showError(fault);
      show(next, what);
    } catch (error) {
      if (isCancelled(error)) return;
      // Nobody waits for a refresh, and the rows shown tell their age, so its failure is not shown.
      if (what !== 'refresh') showFailure(error, what === 'more' ? loadMore : find);
    }
    doing = undefined;
    list.ariaBusy = 'false';
  }

  /**
   * @param {Found} next
   * @param {'find' | 'more' | 'refresh'} what
   */
  function show(next, what) {
    const activeId = what === 'find' ? undefined : found?.tokens[keys.active()]?.id;
    const before = found?.tokens ?? [];
    found = next;
    const { tokens, totalCount, cursor } = next;
    const telling = tellingAddresses(tokens);
    for (const [index, token] of tokens.entries()) {
      const row = tokenRow(token, {
        id: `token-${index}`,
        index,
        count: totalCount,
        isChosen: token.id === chosenId,
        address: telling.get(token.id),
        badges: badges(token),
        end: priceOf(token.price),
      });
      const there = list.children[index];
      // Update a row of the same token in place: a person may be pressing it.
      if (there && before[index]?.id === token.id) updateRow(there, row);
      else if (there) there.replaceWith(row);
      else list.append(row);
    }
    while (list.children.length > tokens.length) list.lastElementChild?.remove();
    keys.setActive(
      tokens.findIndex(({ id }) => id === activeId),
      { scroll: false },
    );
    if (what === 'find') list.parentElement?.scrollTo({ top: 0 });
    say(status, textOf(next));
    nothing.show(totalCount === 0 ? next.search : undefined, next.didYouMean);
    say(byId('shown', HTMLElement), `${tokens.length} of ${totalCount} shown`);
    const hadFocus = document.activeElement === moreButton;
    more.hidden = cursor === undefined;
    if (!more.hidden || !hadFocus) return;
    keys.setActive(before.length);
    list.focus({ preventScroll: true });
  }

  /**
   * @param {unknown} error
   * @param {() => Promise<void>} again
   */
  function showFailure(error, again) {
    failed = again;
    undim();
    onFailure();
    showError(fault, error, again);
    say(status, found ? `Still shown: ${textOf(found)}` : '');
  }

  function find() {
    clearTimeout(typing);
    typing = undefined;
    const conditions = filter();
    const search = {
      query: box.value.trim(),
      ...(Object.keys(conditions).length > 0 ? { filter: conditions } : {}),
      first: PAGE_SIZE,
    };
    settled = fetchPages('find', { search, ...NONE }, 1);
    return settled;
  }

  /** @param {number} ms */
  function findAfter(ms) {
    clearTimeout(typing);
    // A fetch under way is for an older search.
    fetching.abort();
    doing = 'find';
    dimSoon();
    typing = setTimeout(find, ms);
  }

  /** Dims the rows of an older search and says why, unless the answer is fast. */
  function dimSoon() {
    dimming ??= setTimeout(() => {
      list.classList.add('awaited');
      say(status, 'Searching…');
    }, UNDIMMED_MS);
  }

  function undim() {
    clearTimeout(dimming);
    dimming = undefined;
    list.classList.remove('awaited');
  }

  async function loadMore() {
    if (doing === 'find' || doing === 'more' || !found?.cursor) return;
    await fetchPages('more', found, 1);
  }

  /** Chooses the active row or the first row. Waits for the newest search, so that fast typing picks no outdated row. */
  async function chooseActive() {
    if (typing !== undefined) find();
    await settled;
    const token = found?.tokens[Math.max(0, keys.active())];
    if (token && !failed) choose(token);
  }

  function clear() {
    if (keys.active() >= 0) keys.setActive(-1);
    if (box.value !== '') search('');
  }

  /** @param {string} query typed by the page in place of the person */
  function search(query) {
    box.value = query;
    box.focus();
    onChange();
    findAfter(0);
  }

  /** @param {Token} token */
  function choose(token) {
    setChosen(token.id);
    onChoose(token);
  }

  /** @param {string} id */
  function setChosen(id) {
    chosenId = id;
    for (const [index, row] of [...list.children].entries()) {
      row.ariaSelected = String(found?.tokens[index]?.id === id);
    }
  }

  box.addEventListener('input', () => {
    onChange();
    findAfter(TYPING_MS);
  });
  moreButton.addEventListener('click', loadMore);

  return {
    find,
    setChosen,
    /** The token that a person most likely looks for, once a blank search is answered; otherwise undefined. */
    popular: () =>
      found?.search.query === ''
        ? (found.tokens.find(({ isBridgeable }) => isBridgeable) ?? found.tokens[0])
        : undefined,
    /** Repeats the query that failed last. */
    async retry() {
      if (doing === undefined) await failed?.();
    },
    /** Fetches the rows shown again, mainly for their prices. */
    async refresh() {
      const pages = Math.ceil((found?.tokens.length ?? 0) / PAGE_SIZE);
      if (!found || failed || doing !== undefined || pages > MAX_REFRESHED_PAGES) return;
      await fetchPages('refresh', { search: found.search, ...NONE }, Math.max(1, pages));
    },
  };
}
