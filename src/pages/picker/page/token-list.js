import { byId, say } from './dom.js';
import { isOutdated, showFault } from './graph.js';
import { createListKeys } from './list-keys.js';
import { TOKENS } from './queries.js';
import { countText } from './text.js';
import { tokenRow, updateRow } from './token-row.js';

const PAGE_SIZE = 50;
/** A refresh asks once more for what is shown, but not for endless lists. */
const MAX_REFRESHED_PAGES = 4;
/** For how long a person who types is let go on. */
const TYPING_MS = 120;

/** @typedef {import('./queries.js').Token} Token */
/** @typedef {import('./queries.js').TokensVariables} Question */
/** @typedef {{ question: Question, tokens: Token[], totalCount: number, cursor?: string | undefined }} Found */

/**
 * The search box, and the list that it controls.
 *
 * @param {object} options
 * @param {import('./graph.js').Ask} options.ask
 * @param {() => string} options.chainKey on which chain to search; empty for all
 * @param {(token: Token) => void} options.onChoose
 * @param {() => void} options.onQuestion told of each change of what is searched for
 * @param {() => void} options.onFault
 */
export function createTokenList({ ask, chainKey, onChoose, onQuestion, onFault }) {
  const box = byId('search', HTMLInputElement);
  const list = byId('tokens', HTMLElement);
  const status = byId('found', HTMLElement);
  const fault = byId('tokens-fault', HTMLElement);
  const more = byId('more', HTMLElement);
  const moreButton = byId('load-more', HTMLButtonElement);

  /** @type {Found | undefined} what is shown */
  let found;
  let chosenId = '';
  /** @type {(() => Promise<void>) | undefined} asks again what last failed */
  let failed;
  /** @type {'find' | 'more' | 'refresh' | undefined} */
  let doing;
  let asking = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  /** Ends once the newest question is answered, or has failed. */
  let settled = Promise.resolve();

  const keys = createListKeys({ box, list, onEnd: loadMore, onEnter: chooseActive, onEscape: clear });

  /**
   * Asks for pages, one after another, and shows what they hold behind what is there. What is shown stays until then,
   * and also if they cannot be had. Whatever was asked before is outdated by it.
   *
   * @param {'find' | 'more' | 'refresh'} what
   * @param {Found} start
   * @param {number} pages
   */
  async function fetchPages(what, start, pages) {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    doing = what;
    list.ariaBusy = 'true';
    try {
      let next = start;
      for (let page = 0; page < pages && (page === 0 || next.cursor); page++) {
        const { question, cursor } = next;
        const variables = cursor === undefined ? question : { ...question, after: cursor };
        const { tokenSearch } = await ask(TOKENS, variables, { signal, quiet: what === 'refresh' });
        if (!tokenSearch) break;
        const { edges, pageInfo, totalCount } = tokenSearch;
        next = {
          question,
          tokens: withoutRepeats([...next.tokens, ...edges.map(({ node }) => node)]),
          totalCount,
          cursor: pageInfo.hasNextPage ? (pageInfo.endCursor ?? undefined) : undefined,
        };
      }
      failed = undefined;
      showFault(fault);
      show(next, what);
    } catch (error) {
      if (isOutdated(error)) return;
      // Of a refresh nobody waits for the answer, and what is shown says how old it is.
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
    for (const [index, token] of tokens.entries()) {
      if (what === 'more' && index < before.length) continue;
      const row = tokenRow(token, { index, count: totalCount, isChosen: token.id === chosenId });
      const there = list.children[index];
      // A row that stays is not replaced: it may be under a finger.
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
    onFault();
    showFault(fault, error, again);
    say(status, found ? `Still shown: ${textOf(found)}` : '');
  }

  function find() {
    clearTimeout(typing);
    typing = undefined;
    const filter = chainKey() ? { filter: { chainKeys: [chainKey()] } } : {};
    const question = { query: box.value.trim(), ...filter, first: PAGE_SIZE };
    settled = fetchPages('find', { question, tokens: [], totalCount: 0 }, 1);
    return settled;
  }

  /** @param {number} ms */
  function findAfter(ms) {
    clearTimeout(typing);
    // What is under way answers an older question.
    asking.abort();
    doing = 'find';
    typing = setTimeout(find, ms);
    onQuestion();
  }

  async function loadMore() {
    if (doing === 'find' || doing === 'more' || !found?.cursor) return;
    await fetchPages('more', found, 1);
  }

  /** Chooses the active row, or the first that the newest question finds: who types fast gets none of an older one. */
  async function chooseActive() {
    if (typing !== undefined) find();
    await settled;
    const token = found?.tokens[Math.max(0, keys.active())];
    if (token && !failed) choose(token);
  }

  function clear() {
    if (keys.active() >= 0) keys.setActive(-1);
    if (box.value === '') return;
    box.value = '';
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

  box.addEventListener('input', () => findAfter(TYPING_MS));
  moreButton.addEventListener('click', loadMore);
  list.addEventListener('click', ({ target }) => {
    const index = [...list.children].findIndex((row) => target instanceof Node && row.contains(target));
    const token = found?.tokens[index];
    if (!token) return;
    keys.setActive(index);
    list.focus({ preventScroll: true });
    choose(token);
  });

  return {
    find,
    /** Searches as soon as the hand is off the keys. */
    changeChain: () => findAfter(TYPING_MS),
    setChosen,
    /** Asks again what failed. */
    async retry() {
      if (doing === undefined) await failed?.();
    },
    /** Asks again for what is shown, for its prices. */
    async refresh() {
      const pages = Math.ceil((found?.tokens.length ?? 0) / PAGE_SIZE);
      if (!found || failed || doing !== undefined || pages > MAX_REFRESHED_PAGES) return;
      await fetchPages(
        'refresh',
        { question: found.question, tokens: [], totalCount: 0 },
        Math.max(1, pages),
      );
    },
  };
}

/** @param {Found} found */
function textOf({ totalCount, question: { query } }) {
  const count = totalCount === 0 ? 'No tokens' : countText(totalCount, 'token');
  return `${count} found${query ? ` for “${query}”` : ''}`;
}

/**
 * Between two pages the listing can be refreshed and a row move, which then comes twice.
 *
 * @param {Token[]} tokens
 */
function withoutRepeats(tokens) {
  return [...new Map(tokens.map((token) => [token.id, token])).values()];
}
