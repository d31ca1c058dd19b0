/** The search box and its list: first the tokens that can be moved or reached, then those that are only listed. */
import { afterPaint, age, byId, hasMouse, make } from './dom.js';
import { ask, isCancelled, isPassing } from './graph.js';
import { createNotes } from './notes.js';
import { TOKENS, TOKENS_BY_KEY } from './queries.js';
import { nameOf, rowOf, whyNot } from './rows.js';
import { isMixed, lookOf, meantOf } from './text.js';

/** The search begins this long after the last key press (milliseconds). */
const TYPING_MS = 120;
/** Page Up and Page Down move by about as many rows as are visible. */
const PAGE_ROWS = 8;
/** Rows are made in chunks of about one screen: more would block the page. */
const CHUNK_ROWS = 10;
/** The address of a row is compared with at most this many others. */
const MAX_TWINS = 8;
/** The distance to the end of the rows at which the next page is fetched (pixels). */
const NEAR_PX = 800;
/** After new prices, at most this many rows are fetched again. The shown age is that of the oldest price. */
const MAX_REFRESHED = 300;

/** @typedef {import('./queries.js').Token} Token */
/** @typedef {import('./queries.js').TokenFilter} TokenFilter */
/** @typedef {import('./queries.js').TokenPage} TokenPage */
/**
 * What the list searches: it follows from the active slot (From or To) and the selected chain.
 *
 * @typedef {object} Scope
 * @property {TokenFilter} filter the tokens of the first group, which can be moved or reached
 * @property {TokenFilter} others the tokens of the second group, which are only listed. It may match tokens of the first
 *   group; each token is shown once.
 * @property {Token | undefined} source the token whose destinations are searched
 * @property {string} chosenId
 */
/**
 * `cursor` is empty before the first page, and null after the last. `undrawn` has fetched tokens without a row.
 *
 * @typedef {{ filter: TokenFilter, total: number | undefined, cursor: string | null, element: HTMLElement, count: number,
 *   isOther: boolean, undrawn: Token[] }} Group
 */
/** @typedef {{ token: Token, group: Group, place: number, element: HTMLElement }} Row place: its position in the group, from 1 */

/**
 * @param {object} options
 * @param {() => Scope} options.scope
 * @param {(token: Token) => void} options.onChoose
 * @param {() => void} options.onInput called when the text of the search changes
 * @param {() => void} options.onAllChains
 * @param {(answered: import('./graph.js').Answered) => void} options.onAnswered
 * @param {(oldest: string | undefined) => void} options.onPrices called for each search with the time of its oldest price
 * @param {() => void} options.onFailure called when a request has failed that may soon succeed
 */
export function createList({ scope, onChoose, onInput, onAllChains, onAnswered, onPrices, onFailure }) {
  const box = byId('search', HTMLInputElement);
  const list = byId('tokens');
  const notes = createNotes({ onSearch: searchFor, onAllChains, onRetry: () => void failed?.() });

  /** @type {Row[]} in their order on the page */
  let rows = [];
  let ids = new Set();
  /** @type {Map<string, Map<string, string>>} addresses of tokens that look alike: by the result of `lookOf`, then by id */
  let looks = new Map();
  /** @type {TokenPage | undefined} the first page of tokens that are only listed, until it is shown */
  let held;
  /** @type {Token | undefined} see `meantOf` */
  let meant;
  /** @type {Group[]} */
  let groups = [];
  let query = '';
  let scopeShown = scope();
  /** The key of the search whose rows are shown, and of the running search. */
  let shownKey = '';
  let askedKey = '';
  /** @type {(() => Promise<void>) | undefined} repeats the last failed request */
  let failed;
  let settled = Promise.resolve();
  let fetching = new AbortController();
  let isLoading = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  /** @type {Row | undefined} the row that was selected with the keyboard */
  let active;
  /** Choices by Enter run one after another, so that each chooses from the rows of its own search. */
  let entering = Promise.resolve();
  let waiting = 0;

  /** Searches, unless the same search is shown or running. @param {string} [text] */
  function find(text = box.value) {
    clearTimeout(typing);
    const next = scope();
    const sought = text.trim();
    const key = JSON.stringify([sought, next.filter, next.others]);
    // After a failure, the same search runs again, unless it is running already.
    if (key === askedKey && (!failed || list.ariaBusy === 'true')) return settled;
    askedKey = key;
    fetching.abort();
    fetching = new AbortController();
    list.ariaBusy = 'true';
    settled = load(sought, next, key);
    return settled;
  }

  /** @param {string} sought @param {Scope} next @param {string} key */
  async function load(sought, next, key) {
    const { signal } = fetching;
    const words = sought || undefined;
    const ofOthers = { query: words, filter: next.others };
    try {
      const [{ tokenSearch: found }, others] = await Promise.all([
        ask(TOKENS, { query: words, filter: next.filter }, { signal, onAnswered }),
        // Without words and without a source, the second group is fetched at the end of the first.
        sought || next.source ? ask(TOKENS, ofOthers, { signal }) : undefined,
      ]);
      const second = others ?? (found.totalCount ? undefined : await ask(TOKENS, ofOthers, { signal }));
      query = sought;
      scopeShown = next;
      shownKey = key;
      draw(found, second?.tokenSearch);
      succeed();
    } catch (error) {
      if (isCancelled(error)) return;
      fail(error, () => find());
    }
    list.ariaBusy = 'false';
  }

  function succeed() {
    failed = undefined;
    notes.succeed();
    markRows();
  }

  /** @param {unknown} error @param {() => Promise<void>} again */
  function fail(error, again) {
    failed = again;
    askedKey = shownKey;
    if (isPassing(error)) onFailure();
    notes.fail(error, rows.length > 0);
    markRows();
  }

  /** @param {TokenPage} found @param {TokenPage} [others] if missing, the second group is fetched later */
  function draw(found, others) {
    const { filter, others: othersFilter, source } = scopeShown;
    rows = [];
    ids = new Set();
    looks = new Map();
    const first = group(filter, found.totalCount, false);
    const onlyListed = others && others.totalCount - (source ? found.totalCount : 0);
    groups = [first, group(othersFilter, onlyListed, true)];
    list.replaceChildren(...groups.map(({ element }) => element));
    held = others;
    meant = meantOf(query, found.nodes, others?.nodes ?? [], source === undefined);
    noteLooks(others?.nodes ?? []);
    append(first, found);
    // On a phone the page may be scrolled down: this shows the best match.
    if (scrollY || list.scrollTop)
      requestAnimationFrame(() => rows[0]?.element.scrollIntoView({ block: 'nearest' }));
    afterPaint(loadNearEnd);
    setActive(undefined);
    notes.describe({ ...scopeShown, query, found, others, meant });
    onPrices(showPrices());
  }

  /** @param {TokenFilter} filter @param {number | undefined} total undefined until its first page is fetched @param {boolean} isOther @returns {Group} */
  function group(filter, total, isOther) {
    const element = make('div', { role: 'group', class: isOther ? 'others' : 'found', hidden: '' });
    return { filter, total, cursor: '', count: 0, element, isOther, undrawn: [] };
  }

  /**
   * Adds a page to a group. The second group begins after the last page of the first, so that no token is in both.
   *
   * @param {Group} group @param {TokenPage} page
   */
  function append(group, { nodes, pageInfo, totalCount }) {
    group.cursor = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    noteLooks(nodes);
    group.undrawn.push(...nodes.filter(({ id }) => !ids.has(id) && ids.add(id)));
    const [, others] = groups;
    // The search can read the words differently for each group: the last page tells the number of rows.
    const count = group.count + group.undrawn.length;
    group.total = group.isOther && !group.cursor ? count : Math.max(group.total ?? totalCount, count);
    const only = `Listed, but cannot be ${scopeShown.source ? 'reached' : 'moved'} (${group.total})`;
    group.element.ariaLabel = group.isOther ? only : 'Tokens that can be chosen';
    if (held && others && !group.cursor) {
      const page = held;
      held = undefined;
      append(others, page);
    } else drawChunk();
  }

  /** Makes rows of the next fetched tokens. @returns {boolean} whether there were any */
  function drawChunk() {
    const group = groups.find(({ undrawn }) => undrawn.length > 0);
    if (!group) return false;
    const made = group.undrawn.splice(0, CHUNK_ROWS).map((token) => {
      const place = ++group.count;
      return { token, group, place, element: elementOf(token, group, place) };
    });
    rows.push(...made);
    // The browser lays out and paints only the visible chunks.
    const elements = made.map(({ element }) => element);
    group.element.append(make('div', { role: 'none', class: 'chunk' }, ...elements));
    group.element.hidden = false;
    // Shows the chosen row, unless the person has scrolled. On a phone only the page scrolls: this does nothing.
    const chosen = made.find(({ token }) => token.id === scopeShown.chosenId)?.element;
    // Above it are two rows. A token that cannot be reached is left where it is: the first group has those to choose.
    if (chosen && !group.isOther && !list.scrollTop)
      list.scrollTop =
        chosen.getBoundingClientRect().top - list.getBoundingClientRect().top - 2 * chosen.offsetHeight;
    return true;
  }

  /** Remembers how tokens look, and draws rows again that now look like one more token. @param {Token[]} tokens */
  function noteLooks(tokens) {
    for (const token of tokens) {
      const look = lookOf(token);
      const alike = looks.get(look) ?? new Map();
      if (alike.has(token.id) || alike.size > MAX_TWINS) continue;
      looks.set(look, alike.set(token.id, token.address));
      if (alike.size > 1) for (const row of rows) if (lookOf(row.token) === look) redraw(row);
    }
  }

  /** @param {Token} token @param {Group} group @param {number} place */
  function elementOf(token, { isOther, total }, place) {
    const { source, chosenId } = scopeShown;
    return rowOf(token, {
      id: `token-${isOther ? 'other-' : ''}${place}`,
      place,
      count: total ?? 0,
      query,
      twins: twinsOf(token),
      isChosen: token.id === chosenId,
      isDisabled: isOther,
      decimals: isOther ? undefined : source?.decimals,
    });
  }

  /**
   * Draws one row again, in its place. An equal glyph stays, since a new one would load its picture again.
   *
   * @param {Row} row
   */
  function redraw({ token, group, place, element }) {
    const next = elementOf(token, group, place);
    const glyph = element.firstElementChild;
    if (glyph?.isEqualNode(next.firstElementChild)) next.firstElementChild?.replaceWith(glyph);
    element.replaceChildren(...next.childNodes);
  }

  /** The addresses of the other tokens in the list that look like this one. @param {Token} token */
  function twinsOf(token) {
    const alike = [...(looks.get(lookOf(token)) ?? [])];
    return alike.flatMap(([id, address]) => (id === token.id ? [] : address));
  }

  /** Shows the age of the oldest shown price. */
  function showPrices() {
    const [oldest] = rows.flatMap(({ token }) => token.price?.asOf ?? []).sort();
    const place = byId('prices');
    if (place.querySelector('time')?.dateTime !== oldest)
      place.replaceChildren(...(oldest ? ['prices ', age(oldest), ' old'] : []));
    return oldest;
  }

  /** Searches for a text that the person has not typed. @param {string} text */
  function searchFor(text) {
    box.value = text;
    box.focus();
    find();
    onInput();
  }

  /** @param {Token} token @param {boolean} [isOther] */
  function sayWhyNot(token, isOther = true) {
    const text = isOther
      ? `${whyNot(token, scopeShown.source)} Choose another one.`
      : twinsOf(token).length > 0
        ? 'Two tokens look alike here: check the address, then choose one in the list.'
        : 'This symbol has letters that look like others: check the address, then choose it in the list.';
    notes.warnOnly(text);
  }

  /** The row that Enter chooses: the selected row, or the first result if it cannot be mistaken for another token. */
  function rowOfEnter() {
    const [first] = rows;
    if (active || failed || !query || !first) return active;
    const { token, element } = first;
    const isUnclear = twinsOf(token).length > 0 || isMixed(token.symbol);
    return meant || element.ariaDisabled || isUnclear ? undefined : first;
  }

  /** Without rows, the note or the failure takes their place. */
  function markRows() {
    list.parentElement?.classList.toggle('no-rows', rows.length === 0);
    markRowOfEnter();
  }

  function markRowOfEnter() {
    list.querySelector('.takes')?.classList.remove('takes');
    rowOfEnter()?.element.classList.add('takes');
  }

  /** @param {Row | undefined} row */
  function setActive(row) {
    active = row;
    markRowOfEnter();
    if (row) {
      box.setAttribute('aria-activedescendant', row.element.id);
      row.element.scrollIntoView({ block: 'nearest' });
    } else box.removeAttribute('aria-activedescendant');
  }

  /** @param {number} steps */
  async function move(steps) {
    const at = active ? rows.indexOf(active) : -1;
    const from = at < 0 && steps > 0 && rowOfEnter() === rows[0] ? 0 : at;
    const to = steps < 0 && from <= 0 ? -1 : Math.max(0, from + steps);
    while (to >= rows.length && drawChunk());
    if (to >= rows.length) await loadMore();
    setActive(rows[Math.min(to, rows.length - 1)]);
  }

  /** Fetches the next page. */
  async function loadMore() {
    const next = groups.find(({ cursor }) => cursor !== null);
    if (!next || isLoading || askedKey !== shownKey) return;
    isLoading = true;
    try {
      const variables = { query: query || undefined, filter: next.filter, after: next.cursor || undefined };
      append(next, (await ask(TOKENS, variables, { signal: fetching.signal })).tokenSearch);
      succeed();
    } catch (error) {
      if (!isCancelled(error)) fail(error, loadMore);
    }
    isLoading = false;
    // The end of the list may still be visible.
    afterPaint(loadNearEnd);
  }

  /** Makes the rows of the fetched tokens, each chunk in a task of its own. Then fetches the next page if the end is near. */
  function loadNearEnd() {
    const { bottom = 0 } = rows.at(-1)?.element.getBoundingClientRect() ?? {};
    if (drawChunk()) afterPaint(loadNearEnd);
    else if (!failed && bottom < innerHeight + NEAR_PX) void loadMore();
  }

  function enter() {
    if (active) return choose(active);
    // From now on the box accepts the next search, so that fast typing does not wait for an answer.
    const text = box.value;
    box.value = '';
    waiting++;
    entering = entering.then(() => take(text));
  }

  /** Chooses the first result of a text. @param {string} text */
  async function take(text) {
    await find(text);
    waiting--;
    // Another search may have taken the place of this one.
    const isShown = !failed && query === text.trim();
    const row = isShown ? rowOfEnter() : undefined;
    if (row) return onChoose(row.token);
    box.value ||= text;
    void find();
    if (!isShown || !query || !rows[0]) return;
    if (rows[0].element.ariaDisabled && !meant) choose(rows[0]);
    else sayWhyNot(meant ?? rows[0].token, meant !== undefined);
  }

  /** @param {Row} row */
  function choose(row) {
    if (row.group.isOther) return sayWhyNot(row.token);
    if (row.element.ariaDisabled) return notes.warn(`${nameOf(row.token)} is not listed any more.`);
    box.value = '';
    onChoose(row.token);
  }

  box.addEventListener('keydown', (event) => {
    if (event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    /** @type {Record<string, (() => void) | false | undefined>} */
    const keys = {
      ArrowDown: () => void move(1),
      ArrowUp: () => void move(-1),
      PageDown: () => void move(PAGE_ROWS),
      PageUp: active !== undefined && (() => void move(-PAGE_ROWS)),
      // These keys move the caret until a row is selected.
      Home: active !== undefined && (() => setActive(rows[0])),
      End: active !== undefined && (() => void move(rows.length)),
      Enter: enter,
      Escape: box.value !== '' && (() => searchFor('')),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  byId('clear', HTMLButtonElement).addEventListener('click', () => searchFor(''));
  box.addEventListener('input', () => {
    // The selected row is a result of the earlier text.
    setActive(undefined);
    clearTimeout(typing);
    if (waiting === 0) typing = setTimeout(find, TYPING_MS);
    // Last: after many changes of the address, some browsers throw at the next one.
    onInput();
  });
  // Pressing a row keeps the focus in the search, also if the second press of a double click meets no row any more.
  for (const place of [list, byId('skeleton')])
    place.addEventListener('mousedown', (event) => hasMouse && event.preventDefault());
  let chosenAt = 0;
  list.addEventListener('click', ({ target, detail, clientY }) => {
    const row = target instanceof Node && rows.find(({ element }) => element.contains(target));
    // The second click of a double click would choose a row of the next list. A second tap at another place counts.
    if (!row || (detail > 1 && Math.abs(clientY - chosenAt) < 24)) return;
    chosenAt = clientY;
    choose(row);
  });
  list.addEventListener('scroll', loadNearEnd);
  addEventListener('scroll', loadNearEnd);

  return {
    find,
    warn: notes.warn,
    /** Removes the rows, which no longer fit the search. The next search must follow. */
    clear() {
      fetching.abort();
      list.ariaBusy = 'true';
      rows = [];
      groups = [];
      askedKey = shownKey = '';
      list.replaceChildren();
      notes.clear();
      setActive(undefined);
      markRows();
    },
    /** Marks the chosen row. */
    mark() {
      scopeShown = { ...scopeShown, chosenId: scope().chosenId };
      for (const { token, element } of rows) element.ariaSelected = String(token.id === scopeShown.chosenId);
    },
    /** Repeats the last request for rows, if it failed. */
    retry: async () => failed?.(),
    /**
     * Updates rows in their places, unless a search is running or has failed. Disables those that are not listed any more.
     *
     * @param {import('./queries.js').TokenKey[]} also further tokens to fetch
     */
    async refresh(also) {
      const refreshed = failed || askedKey !== shownKey ? [] : rows.slice(0, MAX_REFRESHED);
      const keys = [...refreshed.map(({ token: { chainKey, address } }) => ({ chainKey, address })), ...also];
      if (keys.length === 0) return [];
      /** @type {(Token | null)[]} */
      const tokens = (await ask(TOKENS_BY_KEY, { keys })).tokensByKey;
      // The held page now has old prices. It is fetched again when the list reaches it.
      held = undefined;
      for (const [index, row] of refreshed.entries()) {
        const token = tokens[index];
        row.element.ariaDisabled = token && !row.group.isOther ? null : 'true';
        if (token?.id !== row.token.id || JSON.stringify(token) === JSON.stringify(row.token)) continue;
        row.token = token;
        redraw(row);
      }
      showPrices();
      markRowOfEnter();
      return tokens.slice(refreshed.length);
    },
  };
}
