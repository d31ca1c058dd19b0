/** Puts the page together: the two slots, the chips of chains, the recent choices, and the page's address. */
import { createChains } from './chains.js';
import { createCodePanel } from './code.js';
import { button, byId, hasMouse, listed, make, tell, watchAddress, writeAddress } from './dom.js';
import { ask } from './graph.js';
import { createList } from './list.js';
import { watchListings } from './listings.js';
import { CHAINS, ROUTE, TOKENS_BY_KEY } from './queries.js';
import { glyph, identifiersOf, nameOf, summaryOf, titleOf } from './rows.js';

/** The route between the chosen tokens is asked for again after this time (milliseconds), while the page is visible. */
const ROUTE_MS = 600_000;
/** While another state loads for longer than this (milliseconds), the earlier one is not shown. */
const LOADING_MS = 300;
/** This many recent choices fit into one line. */
const MAX_RECENT = 4;
const RECENT = 'token-picker.recent';
const NO_SHORTCUT = 'token-picker.no-shortcut';
const SIDES = /** @type {const} */ (['from', 'to']);
const LABELS = { from: 'From', to: 'To' };
/** The text of a slot while no token is chosen. */
const NO_TOKEN = { symbol: 'Choose a token', chainKey: 'any chain' };

/** @typedef {import('./queries.js').Token} Token */
/** @typedef {import('./queries.js').TokenKey} TokenKey */
/** @typedef {'from' | 'to'} Side */

const box = byId('search', HTMLInputElement);
const shortcut = byId('shortcut', HTMLButtonElement);
// Focused before the page changes: otherwise the browser would lay it out twice.
if (hasMouse) box.focus();
/**
 * A token is undefined until it is loaded, and null if it is not listed.
 *
 * @type {Record<Side, { key?: TokenKey | undefined, token?: Token | null | undefined }>}
 */
const chosen = { from: {}, to: {} };
/** @type {Side} the side that the search is for */
let side = 'from';
let chain = '';
/** Whether the service lists the route between the chosen tokens; undefined while that is unknown. @type {boolean | undefined} */
let isRoute;
/** When {@link isRoute} was last asked for. */
let routeAt = 0;
/** Whether the tokens that the page's address names could not be loaded. The next poll tries again. */
let isUnopened = false;
/** Counts choices and openings of links: a link that loads slowly must not replace a newer choice. */
let reads = 0;

const panel = createCodePanel({
  tab: new URL(location.href).searchParams.get('code') ?? '',
  onTab: (tab) => writeAddress({ code: tab }, false),
});
const list = createList({
  scope() {
    const chainKeys = chain ? { chainKeys: [chain] } : {};
    const source = (side === 'to' && chosen.from.token) || undefined;
    return {
      filter: { ...chainKeys, ...(source ? { reachableFrom: keyOf(source) } : { isBridgeable: true }) },
      others: { ...chainKeys, ...(source ? {} : { isBridgeable: false }) },
      source,
      chosenId: chosen[side].token?.id ?? '',
    };
  },
  onChoose(token) {
    reads++;
    if (side === 'from' && token.id === chosen.to.token?.id) chosen.to = {};
    chosen[side] = { key: keyOf(token), token };
    tell(
      `${LABELS[side]}: ${nameOf(token)}. ${side === 'from' && !chosen.to.key ? 'Now choose where to.' : ''}`,
    );
    remember(token);
    chain = '';
    if (side === 'from') list.clear();
    isRoute = side === 'to' || undefined;
    if (!hasMouse) {
      // Closes the keyboard after the last choice, and shows both slots.
      if (side === 'to') box.blur();
      scrollTo(0, 0);
    }
    side = 'to';
    showAll(true);
    // The routes may have changed since the list was loaded.
    void list.find().then(showRoute);
  },
  onInput: () => writeState(false),
  onAllChains() {
    chooseChain('');
    showSearch();
  },
  onAnswered: panel.show,
  // Rows are newer than the listing whose age is shown below the code: update this age.
  onPrices: (oldest = '') => shownFrom && oldest > shownFrom && pollNow(),
  onFailure: () => pollNow(),
});
const chains = createChains({ chosen: () => chain, onChoose: chooseChain, onDone: showSearch });

/** @param {TokenKey} key @returns {TokenKey} */
function keyOf({ chainKey, address }) {
  return { chainKey, address };
}

/** Makes the search choose this side. The tokens for To depend on From. @param {Side} next @param {boolean} [isAgain] also if it is chosen already */
function turnTo(next, isAgain) {
  if (next === 'to' && !chosen.from.token) list.warn('First choose a token for From.');
  else if (isAgain || next !== side) {
    side = next;
    chain = box.value = '';
    list.clear();
    showAll(true);
    void list.find();
  }
  showSearch();
}

/** Takes back a choice. The choice for To depends on From. @param {Side} one */
function clear(one) {
  reads++;
  chosen.to = {};
  if (one === 'from') chosen.from = {};
  isRoute = undefined;
  tell(`${LABELS[one]}: no token.`);
  turnTo(chosen.from.token ? one : 'from', true);
}

function swap() {
  reads++;
  [chosen.from, chosen.to] = [chosen.to, chosen.from];
  const [from, to] = SIDES.map((one) => chosen[one].token);
  if (from && to) tell(`From: ${nameOf(from)}. To: ${nameOf(to)}.`);
  chain = '';
  isRoute = undefined;
  list.clear();
  showAll(true);
  void list.find().then(showRoute);
}

/** The panel shows the query for both chosen tokens and their route: a transfer needs it. */
const showRoute = () => checkRoute({ onAnswered: panel.show });

/**
 * Finds out whether there is a route from the source to the destination. A route back does not imply one.
 *
 * @param {Parameters<typeof ask>[2]} [options]
 */
async function checkRoute(options) {
  routeAt = Date.now();
  const { from, to } = chosen;
  if (!from.token || !to.token) return;
  const { chainKey, address, id } = to.token;
  const variables = { from: keyOf(from.token), toChain: chainKey, toAddress: address };
  const { route } = await ask(ROUTE, variables, options).catch(() => ({}));
  if (from !== chosen.from || to !== chosen.to) return;
  // After a failure the next poll asks again.
  if (!route) routeAt = 0;
  const known = isRoute;
  isRoute = route?.nodes.some((/** @type {Token} */ found) => found.id === id);
  // Drawn only if it differs: drawing loses the focus and the selection in the slots.
  if (isRoute !== known) showSlots();
}

/** @param {boolean} isChoice whether a person chose something, so that the Back button undoes it */
function showAll(isChoice) {
  showSlots();
  chains.show();
  list.mark();
  writeState(isChoice);
}

function showSlots() {
  for (const one of SIDES) {
    const { key, token } = chosen[one];
    const slot = byId(one, HTMLButtonElement);
    slot.ariaPressed = String(one === side);
    /** @type {HTMLElement} */ (slot.nextElementSibling).hidden = token === undefined;
    slot.replaceChildren(
      ...(token ? [glyph(token)] : []),
      make(
        'span',
        { class: 'what' },
        make(
          'span',
          { class: 'label' },
          `${LABELS[one]} `,
          one === 'to' && isRoute === false ? make('span', { class: 'differs' }, '· no route ') : '',
        ),
        ...(token || !key
          ? titleOf(token ?? NO_TOKEN)
          : [make('b', {}, token === null ? 'Not listed' : 'Loading…')]),
      ),
    );
  }
  byId('swap', HTMLButtonElement).disabled = !chosen.from.token || !chosen.to.token;
  showPair();
}

/** Shows the chosen tokens with identifiers to copy, and the recent choices until both are chosen. */
function showPair() {
  const { from, to } = chosen;
  byId('pair').replaceChildren(
    ...(from.token
      ? summaryOf(from.token, to.token, isRoute)
      : [make('p', { class: 'label' }, 'Choose two tokens to see whether there is a route.')]),
    ...SIDES.flatMap((one) => {
      const { token } = chosen[one];
      if (token) return identifiersOf(LABELS[one], token);
      // The line is there before its token is chosen: otherwise the panel below would move.
      const none = make('span', { class: 'label none' }, 'not chosen yet');
      return [make('span', { class: 'label' }, LABELS[one]), none];
    }),
    ...(from.token && to.token ? [] : recentChoices()),
  );
}

function recentChoices() {
  const isChosen = (/** @type {TokenKey} */ { chainKey, address }) =>
    SIDES.some((one) => chosen[one].key?.address === address && chosen[one].key?.chainKey === chainKey);
  const again = readRecent()
    .filter((one) => !isChosen(one))
    .map((one) => {
      const made = button('', () => {
        writeAddress({ q: '', chain: '', [side === 'to' ? 'to' : 'token']: textOf(one), side: '' }, true);
        void readState();
        showSearch();
      });
      made.append(make('b', {}, listed(one.symbol)), ' ', listed(one.chain));
      return made;
    });
  if (again.length === 0) return [];
  const forget = button('Forget', () => {
    store(RECENT, '');
    showPair();
    showSearch();
  });
  const label = make('span', { class: 'label' }, 'Recent');
  return [
    make('div', { class: 'recent', role: 'group', 'aria-label': 'Recent choices' }, label, ...again, forget),
  ];
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
    return JSON.parse(stored(RECENT) ?? '[]').filter((/** @type {any} */ one) =>
      [one.chainKey, one.address, one.symbol, one.chain].every((text) => typeof text === 'string'),
    );
  } catch {
    // Another program has written to the storage.
    return [];
  }
}

/** @param {string} name */
function stored(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    // The browser forbids storage.
    return null;
  }
}

/** @param {string} name @param {string} value empty to remove it */
function store(name, value) {
  try {
    if (value) localStorage.setItem(name, value);
    else localStorage.removeItem(name);
  } catch {
    // The browser forbids storage: the value is not remembered.
  }
}

/** The address after the last choice of a chain by an arrow key; empty after another choice. */
let passed = '';

/** @param {string} chainKey */
function chooseChain(chainKey) {
  chain = chainKey;
  chains.show();
  // Before `chains.close`, so that the choice replaces the entry of the chain list in the history. Arrow keys choose each
  // chain that they pass: Back undoes all these choices at once.
  const isByKey = document.querySelector('#chains :focus-visible');
  writeState(!isByKey || location.href !== passed);
  passed = isByKey ? location.href : '';
  if (!hasMouse) chains.close();
  void list.find();
}

/** Makes the search visible if the list of all chains is in its place, and ready to type. */
function showSearch() {
  chains.close();
  // On a touch screen the keyboard would hide the rows.
  if (hasMouse) box.focus();
}

/** The text of a key in the address, such as "base:0x8335…". @param {TokenKey | undefined} key */
function textOf(key) {
  return key ? `${key.chainKey}:${key.address}` : '';
}

/** Writes a link to the present state into the address. @param {boolean} isChoice */
function writeState(isChoice) {
  const { from, to } = chosen;
  const values = { q: box.value.trim(), chain, token: textOf(from.key), to: textOf(to.key) };
  const aside = side === 'from' && from.token ? 'from' : '';
  // While the tokens of a link could not be loaded, the link keeps its `side`, because it will be read again.
  writeAddress({ ...values, ...(isUnopened && !isChoice ? {} : { side: aside }) }, isChoice);
}

/** Loads and shows the state that the address describes. @param {boolean} [isNew] false to load the same state again */
async function readState(isNew = true) {
  const read = ++reads;
  const { searchParams } = new URL(location.href);
  /** @param {string} name of a parameter with a key. Addresses can contain further colons */
  const keyIn = (name) => {
    const [, chainKey = '', address = ''] = /^([^:]+):(.+)$/s.exec(searchParams.get(name) ?? '') ?? [];
    return chainKey ? { chainKey, address } : undefined;
  };
  box.value = searchParams.get('q') ?? '';
  chain = searchParams.get('chain')?.toLowerCase() ?? '';
  const from = keyIn('token');
  const to = from && keyIn('to');
  /** @type {(Token | null)[]} */
  let tokens = [];
  isUnopened = false;
  // If loading is slow, the earlier state is removed after a while; if there is none, at once.
  const slow = isNew
    ? setTimeout(() => {
        if (read !== reads) return;
        chosen.from = { key: from };
        chosen.to = { key: to };
        isRoute = undefined;
        list.clear();
        showSlots();
      }, chosen.from.key && LOADING_MS)
    : undefined;
  if (from)
    try {
      tokens = (await ask(TOKENS_BY_KEY, { keys: to ? [from, to] : [from] })).tokensByKey;
    } catch {
      // `list.find` below fails, too, and shows the error. The next poll of the listings tries again.
      isUnopened = true;
    }
  clearTimeout(slow);
  if (read !== reads) return;
  chosen.from = { key: from, token: tokens[0] };
  chosen.to = { key: to, token: tokens[1] };
  side = chosen.from.token && searchParams.get('side') !== 'from' ? 'to' : 'from';
  isRoute = undefined;
  list.clear();
  showAll(false);
  await list.find().then(showRoute);
  if (tokens.includes(null)) list.warn('A chosen token is not listed.');
}

// The key "/" can be switched off, since it disturbs speech input.
shortcut.ariaPressed = String(stored(NO_SHORTCUT) === null);
shortcut.addEventListener('click', () => {
  const isOn = shortcut.ariaPressed !== 'true';
  shortcut.ariaPressed = String(isOn);
  store(NO_SHORTCUT, isOn ? '' : 'true');
});
addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, altKey, metaKey } = event;
  if (key !== '/' || shortcut.ariaPressed !== 'true' || ctrlKey || altKey || metaKey) return;
  if (target instanceof HTMLInputElement && target.type !== 'radio' && (target !== box || box.value)) return;
  event.preventDefault();
  chains.close();
  box.focus();
  box.select();
});
for (const one of SIDES) {
  const slot = byId(one);
  slot.addEventListener('click', () => turnTo(one));
  slot.nextElementSibling?.addEventListener('click', () => clear(one));
}
byId('swap', HTMLButtonElement).addEventListener('click', swap);
// On a touch screen the keyboard leaves little room: the header and the slots are scrolled away.
box.addEventListener('focus', () => hasMouse || box.parentElement?.scrollIntoView());
watchAddress(() => void readState());

void readState();

/** @param {Token | null | undefined} token */
const shownFacts = (token) =>
  // Without `since`: it differs between gateways that share nothing.
  JSON.stringify({ ...token, price: 0 }, (name, value) => (name === 'since' ? 0 : value));
let chainsKnown = '';
let shownFrom = '';
let source = '';
const pollNow = watchListings(async ([ofChains, ofTokens]) => {
  // The label of demo data is part of the page: load it again.
  if (source && source !== ofTokens?.source) location.reload();
  source = ofTokens?.source ?? '';
  await list.retry();
  if (isUnopened) await readState(false);
  else if (Date.now() > routeAt + ROUTE_MS) void checkRoute();
  const version = `${ofChains?.version} ${ofTokens?.rows}`;
  if (version !== chainsKnown) {
    chains.load((await ask(CHAINS, {})).chains);
    chainsKnown = version;
  }
  const now = `${ofTokens?.takenAt}`;
  const sides = SIDES.map((one) => chosen[one]).filter(({ key }) => key);
  const fresh = shownFrom && now !== shownFrom && (await list.refresh(sides.flatMap(({ key }) => key ?? [])));
  // After a failure, this line is not reached, and the next poll tries again.
  shownFrom = now;
  if (!fresh) return;
  // Not for new prices, which the slots do not show: drawing loses the focus and the selection.
  if (sides.some(({ token }, index) => shownFacts(token) !== shownFacts(fresh[index])))
    await readState(false);
});
