import { isCancelled, showError } from '../graph.js';
import { byId, listed, make, say } from '../parts/dom.js';
import { heldBackLines } from '../parts/held-back.js';
import { createListKeys } from '../parts/list-keys.js';
import { CHAINS } from '../queries.js';

/** How long to wait after a key press before searching (milliseconds). */
const TYPING_MS = 120;
const ALL = { chainKey: '', name: 'All chains', tokenCount: null, heldBack: [] };

/** @typedef {import('../queries.js').Chain} Chain */

/**
 * The choice of a chain: a button that opens a search with a list, most tokens first.
 *
 * @param {object} options
 * @param {import('../graph.js').Ask} options.ask
 * @param {() => void} options.onChange
 */
export function createChainBox({ ask, onChange }) {
  const opener = byId('chain', HTMLButtonElement);
  const popup = byId('chains', HTMLElement);
  const box = byId('chain-search', HTMLInputElement);
  const list = byId('chain-list', HTMLElement);
  const status = byId('chains-found', HTMLElement);
  const fault = byId('chains-fault', HTMLElement);
  const collator = new Intl.Collator('en', { numeric: true });
  /** @type {Map<string, string>} names by chainKey */
  const names = new Map([[ALL.chainKey, ALL.name]]);
  let value = '';
  /** @type {Chain[]} */
  let shown = [];
  let fetching = new AbortController();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  /** Resolves when the newest search has succeeded or failed. */
  let settled = Promise.resolve();

  const keys = createListKeys({
    box,
    list,
    onEnter: async () => {
      if (typing !== undefined) find();
      await settled;
      choose(Math.max(0, keys.active()));
    },
    onPress: choose,
    onEscape: () => popup.hidePopover(),
  });

  /** @param {number} index */
  function choose(index) {
    const chain = shown[index];
    if (!chain) return;
    popup.hidePopover();
    if (chain.chainKey === value) return;
    set(chain.chainKey);
    onChange();
  }

  /** @param {string} chainKey kept even if no such chain is listed */
  function set(chainKey) {
    value = chainKey;
    showName();
    for (const [index, row] of [...list.children].entries())
      row.ariaSelected = String(shown[index]?.chainKey === value);
  }

  function showName() {
    byId('chain-name', HTMLElement).replaceChildren(listed(names.get(value) || value));
  }

  /** @param {string} search */
  async function load(search) {
    fetching.abort();
    fetching = new AbortController();
    const { chains } = await ask(CHAINS, { search }, { signal: fetching.signal, quiet: true });
    for (const { chainKey, name } of chains ?? []) names.set(chainKey, name);
    shown = [...(search === '' ? [ALL] : []), ...(chains ?? []).toSorted(byTokens)];
    list.replaceChildren(...shown.map(row));
    keys.setActive(-1);
    say(status, shown.length === 0 ? 'No chain found. Clear the text to see all of them.' : '');
    showError(fault);
    showName();
  }

  /**
   * @param {Chain} a
   * @param {Chain} b
   */
  function byTokens(a, b) {
    return (b.tokenCount ?? 0) - (a.tokenCount ?? 0) || collator.compare(a.name, b.name);
  }

  /**
   * @param {Chain} chain
   * @param {number} index
   */
  function row({ chainKey, name, tokenCount, heldBack }, index) {
    return make(
      'div',
      { role: 'option', id: `chain-${index}`, 'aria-selected': String(chainKey === value) },
      make('span', {}, listed(name || chainKey)),
      ...(tokenCount === null ? [] : [' ', make('span', { class: 'count' }, String(tokenCount))]),
      ...heldBackLines(heldBack),
    );
  }

  function find() {
    clearTimeout(typing);
    typing = undefined;
    settled = load(box.value.trim()).catch((error) => {
      if (!isCancelled(error)) showError(fault, error, find);
    });
  }

  box.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(find, TYPING_MS);
  });
  popup.addEventListener('beforetoggle', (event) => {
    if (!(event instanceof ToggleEvent) || event.newState === 'closed') return;
    const { left, right, bottom } = opener.getBoundingClientRect();
    const width = Math.min(320, innerWidth - 32);
    popup.style.left = `${Math.max(16, Math.min(left, right - width))}px`;
    popup.style.top = `${bottom + 4}px`;
    popup.style.width = `${width}px`;
    popup.style.maxHeight = `${Math.max(240, innerHeight - bottom - 20)}px`;
  });
  popup.addEventListener('toggle', (event) => {
    const isOpen = event instanceof ToggleEvent && event.newState === 'open';
    box.ariaExpanded = String(isOpen);
    if (isOpen) keys.setActive(shown.findIndex(({ chainKey }) => chainKey === value));
    else if (box.value !== '') {
      box.value = '';
      find();
    }
  });
  set('');

  return {
    value: () => value,
    set,
    /** Fetches the chains again, unless a person is searching them. */
    async load() {
      if (box.value === '') await load('');
    },
  };
}
