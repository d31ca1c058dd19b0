/** Puts the page together: the two slots, the chips of chains, the recent choices, and the page's address. */
import { createCodePanel } from './code.js';
import { age, button, byId, copy, draw, flash, listed, make, say, tell } from './dom.js';
import { ask } from './graph.js';
import { createList } from './list.js';
import { watchListings } from './listings.js';
import { CHAINS, MORE_TOKENS, TOKENS_BY_KEY } from './queries.js';
import { chainColor, glyph, heldBackLines, nameOf, titleOf, warningsOf } from './rows.js';
import { countText } from './text.js';

/** How many chips of chains are shown at first. */
const CHIPS = 8;
const MAX_RECENT = 4;
const RECENT = 'token-picker.recent';
const NO_SHORTCUT = 'token-picker.no-shortcut';

/** @typedef {import('./queries.js').Token} Token */
/** @typedef {import('./queries.js').TokenKey} TokenKey */
/** @typedef {'from' | 'to'} Side */

const box = byId('search', HTMLInputElement);
const finder = byId('find-chain', HTMLInputElement);
/** @type {Record<Side, { key?: TokenKey | undefined, token?: Token | undefined }>} */
const chosen = { from: {}, to: {} };
/** @type {Side} the side that the search is for */
let side = 'from';
let chain = '';
/** Whether it is known that the destination cannot be reached. */
let isUnreached = false;
/** @type {import('./queries.js').Chain[]} */
let chains = [];
let areAllChains = false;
/** Whether loading the tokens of a link has failed. */
let isUnopened = false;

const address = new URL(location.href);
const panel = createCodePanel({
  tab: address.searchParams.get('code') ?? '',
  onTab: (tab) => writeAddress({ code: tab }, false),
});
const list = createList({
  scope() {
    const chainKeys = chain ? { chainKeys: [chain] } : {};
    const source = side === 'to' ? chosen.from.token : undefined;
    return {
      filter: { ...chainKeys, ...(source ? { reachableFrom: keyOf(source) } : { isBridgeable: true }) },
      others: { ...chainKeys, ...(source ? {} : { isBridgeable: false }) },
      source,
      chosenId: chosen[side].token?.id ?? '',
    };
  },
  onChoose(token) {
    if (side === 'from' && token.id !== chosen.from.token?.id) chosen.to = {};
    chosen[side] = { key: keyOf(token), token };
    isUnreached = false;
    tell(
      `${side === 'from' ? 'From' : 'To'}: ${nameOf(token)}. ${side === 'from' ? 'Now choose where to.' : ''}`,
    );
    remember(token);
    chain = '';
    if (side === 'from') list.clear();
    side = 'to';
    showAll(true);
    void list.find().then(showPrices);
  },
  onInput: () => writeState(false),
  onAllChains: () => chooseChain(''),
  onAnswered: panel.show,
});

/** @param {TokenKey} key @returns {TokenKey} */
function keyOf({ chainKey, address }) {
  return { chainKey, address };
}

/** Makes the search choose the token of this side. @param {Side} next */
function turnTo(next) {
  if (next === 'to' && !chosen.from.token) next = 'from';
  if (next !== side) {
    side = next;
    chain = '';
    box.value = '';
    list.clear();
    showAll(true);
    void list.find().then(showPrices);
  }
  // On a touch screen the keyboard would hide the rows.
  if (matchMedia('(hover: hover)').matches) box.focus();
}

async function swap() {
  [chosen.from, chosen.to] = [chosen.to, chosen.from];
  if (!chosen.from.key) side = 'from';
  list.clear();
  chain = '';
  showAll(true);
  await Promise.all([list.find(), checkReach()]);
}

/** Finds out whether there is a route from the source to the destination. A route back does not imply one. */
async function checkReach() {
  isUnreached = false;
  const { from, to } = chosen;
  if (from.token && to.token) {
    const filter = { reachableFrom: keyOf(from.token), chainKeys: [to.token.chainKey] };
    const { tokenSearch } = await ask(MORE_TOKENS, { query: to.token.address, filter }).catch(() => ({}));
    isUnreached = tokenSearch?.nodes.every((/** @type {Token} */ { id }) => id !== to.token?.id) ?? false;
  }
  showSlots();
}

function showSlots() {
  for (const one of /** @type {const} */ (['from', 'to'])) {
    const { key, token } = chosen[one];
    const label = one === 'from' ? 'From' : 'To';
    const slot = byId(one, HTMLButtonElement);
    const isBad = one === 'to' && isUnreached;
    slot.ariaPressed = String(one === side);
    slot.replaceChildren(
      ...(token ? [glyph(token)] : []),
      make(
        'span',
        { class: 'what' },
        make('span', { class: token ? 'unseen' : 'label' }, `${label} `),
        ...(token ? titleOf(token) : [make('b', {}, key ? 'Not listed' : 'Choose a token')]),
        ...(isBad ? [' ', make('span', { class: 'differs' }, 'cannot be reached')] : []),
      ),
    );
  }
  byId('swap', HTMLButtonElement).disabled = !chosen.from.token || !chosen.to.token;
  showPair();
}

/** Shows both chosen tokens with identifiers to copy, or the recent choices if there are none. */
function showPair() {
  const lines = /** @type {const} */ (['from', 'to']).flatMap((one) => {
    const { token } = chosen[one];
    if (!token) return [];
    // The end stays visible where the middle does not fit.
    const text = make('code', {}, listed(token.address.slice(0, -6)), listed(token.address.slice(-6)));
    const press = button('Copy', async () => flash(press, await copy(token.address, text)));
    press.ariaLabel = `Copy the address of ${nameOf(token)}`;
    return [
      make('span', { class: 'label' }, one === 'from' ? 'From' : 'To'),
      make(
        'span',
        { class: 'id' },
        make('span', {}, listed(token.chain?.caip2 ?? token.chainKey), ' · '),
        text,
      ),
      press,
      ...warningsOf(token, false),
    ];
  });
  const recent = readRecent().filter(
    ({ chainKey, address }) =>
      ![chosen.from, chosen.to].some(({ key }) => key?.address === address && key.chainKey === chainKey),
  );
  const again = recent.map((one) => button('', () => void open(one, undefined, true)));
  for (const [index, one] of again.entries()) {
    const { symbol = '', chain: on = '' } = recent[index] ?? {};
    one.append(make('b', {}, listed(symbol)), ' ', listed(on));
  }
  const place = byId('pair', HTMLElement);
  const forget = button('Forget', () => {
    store(RECENT, '');
    showPair();
  });
  forget.ariaLabel = 'Forget the recent choices';
  place.replaceChildren(
    ...lines,
    ...(again.length > 0
      ? [
          make(
            'div',
            { class: 'recent', role: 'group', 'aria-label': 'Recent choices' },
            make('span', { class: 'label' }, 'Recent'),
            ...again,
            forget,
          ),
        ]
      : []),
  );
  place.hidden = !place.firstChild;
}

/** @param {boolean} isChoice whether a person chose something, so that the Back button undoes it */
function showAll(isChoice) {
  showSlots();
  showChips();
  list.mark();
  writeState(isChoice);
}

/** @param {string} chainKey */
function chooseChain(chainKey) {
  chain = chainKey;
  showChips();
  writeState(true);
  void list.find().then(showPrices);
}

/** @param {{ chainKey: string, name: string, heldBack: import('./queries.js').HeldBackFact[] }} chain */
function chipOf({ chainKey, name, heldBack }) {
  const input = make('input', { type: 'radio', name: 'chain', value: chainKey });
  input.addEventListener('change', () => chooseChain(chainKey));
  const square = draw('rect', { width: '10', height: '10', rx: '3', fill: chainColor(chainKey) });
  return make(
    'label',
    {},
    input,
    ...(chainKey ? [draw('svg', { viewBox: '0 0 10 10', 'aria-hidden': 'true' }, square)] : []),
    listed(name || chainKey),
    ...heldBackLines(heldBack).map((line) => make('span', { class: 'warning' }, line)),
  );
}

/** Shows the chips of chains, most movable tokens first, and counts those that match. The chosen one is always among them. */
function showChips() {
  const known = chains.find(({ chainKey }) => chainKey === chain);
  const first = chains.slice(0, CHIPS);
  const shown = areAllChains ? chains : [...first, ...(known && !first.includes(known) ? [known] : [])];
  const place = byId('chains', HTMLElement);
  const all = [
    { chainKey: '', name: 'All chains', heldBack: [] },
    ...shown,
    ...(chain && !known ? [{ chainKey: chain, name: chain, heldBack: [] }] : []),
  ];
  // Keep existing chips: one of them may have the focus.
  if (place.dataset.chips !== JSON.stringify(all)) {
    const hadFocus = place.contains(document.activeElement);
    place.dataset.chips = JSON.stringify(all);
    place.replaceChildren(...all.map(chipOf));
    if (hadFocus) place.querySelector('input')?.focus();
  }
  const sought = finder.value.trim().toLowerCase();
  let matches = 0;
  for (const input of place.querySelectorAll('input')) {
    input.checked = input.value === chain;
    const label = input.closest('label');
    const isMatch = `${input.value} ${label?.textContent}`.toLowerCase().includes(sought);
    if (input.value && isMatch) matches++;
    // The Tab key reaches a radio group only by its chosen radio.
    if (label) label.hidden = !isMatch && !input.checked && input.value !== '';
  }
  place.classList.toggle('none', matches === 0);
  const rest = chains.length - shown.length;
  const more = byId('more-chains', HTMLButtonElement);
  more.hidden = chains.length <= CHIPS;
  more.ariaExpanded = String(areAllChains);
  say(more, areAllChains ? 'Fewer' : `+${rest}`);
  more.ariaLabel = areAllChains ? 'Fewer chains' : `${rest} more chains`;
  byId('chips', HTMLElement).classList.toggle('all', areAllChains);
  return matches;
}

/** Shows how old the prices of the rows are. */
function showPrices() {
  const place = byId('prices', HTMLElement);
  const oldest = list.oldestPrice();
  if (place.querySelector('time')?.dateTime !== oldest)
    place.replaceChildren(...(oldest ? ['prices ', age(oldest), ' old'] : []));
}

/** @param {Record<string, string>} values @param {boolean} isChoice */
function writeAddress(values, isChoice) {
  const next = new URL(location.href);
  for (const [name, value] of Object.entries(values)) {
    if (value) next.searchParams.set(name, value);
    else next.searchParams.delete(name);
  }
  // A query string may contain a plain colon, which is easier to read.
  next.search = next.searchParams.toString().replaceAll('%3A', ':');
  if (next.href === location.href) return;
  if (isChoice) history.pushState(null, '', next);
  else history.replaceState(null, '', next);
}

/** Writes a link to the present state into the address. @param {boolean} isChoice */
function writeState(isChoice) {
  const textOf = (/** @type {TokenKey | undefined} */ key) => (key ? `${key.chainKey}:${key.address}` : '');
  const { from, to } = chosen;
  const isAside = side === 'from' && from.key;
  writeAddress(
    { q: box.value.trim(), chain, token: textOf(from.key), to: textOf(to.key), side: isAside ? 'from' : '' },
    isChoice,
  );
}

/** Shows the state that the page's address describes. */
async function readState() {
  const { searchParams } = new URL(location.href);
  /** @param {string} name such as "base:0x8335…"; addresses can contain further colons */
  const key = (name) => {
    const [, chainKey = '', address = ''] = /^([^:]+):(.+)$/s.exec(searchParams.get(name) ?? '') ?? [];
    return chainKey ? { chainKey, address } : undefined;
  };
  box.value = searchParams.get('q') ?? '';
  chain = searchParams.get('chain') ?? '';
  const from = key('token');
  if (from) await open(from, key('to'), false, searchParams.get('side') === 'from' ? 'from' : 'to');
  else {
    Object.assign(chosen, { from: {}, to: {} });
    side = 'from';
    showSlots();
    showChips();
    await list.find();
    showPrices();
  }
}

/**
 * Loads and shows tokens by their keys.
 *
 * @param {TokenKey} from
 * @param {TokenKey | undefined} to
 * @param {boolean} isChoice
 * @param {Side} [next]
 */
async function open(from, to, isChoice, next = 'to') {
  const keys = [from, ...(to ? [to] : [])].map(keyOf);
  /** @type {[Token | null, Token | null | undefined]} */
  let tokens = [null, null];
  try {
    tokens = (await ask(TOKENS_BY_KEY, { keys })).tokensByKey;
    isUnopened = false;
  } catch {
    // The search shows the error. The next poll of the listings tries again.
    isUnopened = true;
  }
  chosen.from = { key: keyOf(from), token: tokens[0] ?? undefined };
  chosen.to = { key: to && keyOf(to), token: tokens[1] ?? undefined };
  side = chosen.from.token ? next : 'from';
  if (isChoice) {
    box.value = chain = '';
    showAll(true);
  }
  list.clear();
  showSlots();
  showChips();
  await Promise.all([list.find(), checkReach()]);
  showPrices();
}
/** @param {Token} token */
function remember({ chainKey, address, symbol, chain: on }) {
  const others = readRecent().filter((one) => one.chainKey !== chainKey || one.address !== address);
  const recent = [{ chainKey, address, symbol, chain: on?.name ?? chainKey }, ...others].slice(0, MAX_RECENT);
  store(RECENT, JSON.stringify(recent));
}

/** @returns {(TokenKey & { symbol: string, chain: string })[]} */
function readRecent() {
  try {
    const stored = JSON.parse(localStorage.getItem(RECENT) ?? '[]');
    return stored
      .filter((/** @type {any} */ one) =>
        [one.chainKey, one.address, one.symbol, one.chain].every((text) => typeof text === 'string'),
      )
      .slice(0, MAX_RECENT);
  } catch {
    // The browser forbids storage, or another program has written to it.
    return [];
  }
}

/** @param {string} name @param {string} value empty to remove it */
function store(name, value) {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch {
    // Without storage the value lasts until the page closes.
  }
}

/** Whether the key "/" focuses the search. It can be switched off, since it disturbs speech input. */
const shortcut = byId('shortcut', HTMLButtonElement);
try {
  shortcut.ariaPressed = String(localStorage.getItem(NO_SHORTCUT) === null);
} catch {
  // Without storage the button stays as the page has it.
}
shortcut.addEventListener('click', () => {
  const isOn = shortcut.ariaPressed !== 'true';
  shortcut.ariaPressed = String(isOn);
  store(NO_SHORTCUT, isOn ? '' : 'true');
});
addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, altKey, metaKey } = event;
  if (
    key !== '/' ||
    shortcut.ariaPressed !== 'true' ||
    ctrlKey ||
    altKey ||
    metaKey ||
    (target instanceof HTMLInputElement && target.type !== 'radio')
  )
    return;
  event.preventDefault();
  box.focus();
  box.select();
});
byId('from', HTMLButtonElement).addEventListener('click', () => turnTo('from'));
byId('to', HTMLButtonElement).addEventListener('click', () => turnTo('to'));
byId('swap', HTMLButtonElement).addEventListener('click', swap);
byId('more-chains', HTMLButtonElement).addEventListener('click', () => {
  areAllChains = !areAllChains;
  finder.value = '';
  showChips();
});
finder.addEventListener('input', () => tell(countText(showChips(), 'chain')));
addEventListener('popstate', readState);

void readState();
if (matchMedia('(hover: hover)').matches) box.focus({ preventScroll: true });

let chainsKnown = '';
let shownFrom = '';
watchListings(async ([ofChains, ofTokens]) => {
  await list.retry();
  if (isUnopened) await readState();
  const version = `${ofChains?.version} ${ofTokens?.rows}`;
  if (version !== chainsKnown) {
    chains = (await ask(CHAINS, {})).chains;
    const movable = new Map(
      chains.map((one) => [one, one.tokens?.filter(({ isBridgeable }) => isBridgeable).length ?? 0]),
    );
    chains.sort((a, b) => (movable.get(b) ?? 0) - (movable.get(a) ?? 0));
    chainsKnown = version;
    showChips();
  }
  const now = `${ofTokens?.takenAt}`;
  if (shownFrom && now !== shownFrom) {
    const sides = [chosen.from, chosen.to].filter(({ token }) => token);
    const fresh = await list.refresh(sides.flatMap(({ token }) => token ?? []));
    for (const [index, token] of fresh.entries()) {
      const one = sides[index];
      if (one?.token && token?.id === one.token.id) one.token = token;
    }
    showPair();
  }
  shownFrom = now;
  showPrices();
});
