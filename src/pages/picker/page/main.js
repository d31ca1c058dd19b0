import { createChosenToken } from './chosen/chosen-token.js';
import { createGraph } from './graph.js';
import { readLocation, writeLocation } from './location.js';
import { byId } from './parts/dom.js';
import { watchListings } from './state/listings.js';
import { createQueryPanel } from './state/query-panel.js';
import { createChainBox } from './tokens/chain-box.js';
import { createRecentChoices } from './tokens/recent-choices.js';
import { createTokenList } from './tokens/token-list.js';

const { endpoint = '', hasPlayground } = document.body.dataset;
const box = byId('search', HTMLInputElement);
const movable = byId('movable', HTMLInputElement);

/** @typedef {import('./queries.js').TokenKey} TokenKey */
/** @type {TokenKey | undefined} */
let token;
/** @type {TokenKey | undefined} */
let destination;

/** @param {boolean} isChoice whether a person chose something, which the Back button undoes */
function keepLocation(isChoice) {
  const search = { query: box.value.trim(), chainKey: chains.value(), isMovable: movable.checked };
  writeLocation({ ...search, token, destination }, isChoice);
}

const panel = createQueryPanel(hasPlayground === 'true' ? endpoint : undefined);
const ask = createGraph(endpoint, panel.add);
const chains = createChainBox({ ask, onChange: filterAnew });
const chosen = createChosenToken({
  ask,
  onOpened: ({ id }) => list.setChosen(id),
  onDestination({ chainKey, address }) {
    destination = { chainKey, address };
    keepLocation(true);
    bringIntoView('transfer');
  },
});
const list = createTokenList({
  ask,
  filter: () => ({
    ...(chains.value() ? { chainKeys: [chains.value()] } : {}),
    ...(movable.checked ? { isBridgeable: true } : {}),
  }),
  onChoose(chosenToken) {
    setToken(chosenToken);
    recent.add(chosenToken);
    keepLocation(true);
    chosen.choose(chosenToken);
    bringIntoView('chosen');
  },
  onChange: () => keepLocation(false),
  onAllChains() {
    chains.set('');
    filterAnew();
  },
  onUnmovable() {
    movable.checked = false;
    filterAnew();
  },
  onFailure: () => listings?.lookSoon(),
});
const recent = createRecentChoices((key) => {
  setToken(key);
  keepLocation(true);
  bringIntoView('chosen');
  chosen.open(key);
});

movable.addEventListener('change', filterAnew);

function filterAnew() {
  keepLocation(true);
  list.find();
}

/** @param {(TokenKey & { id?: string }) | undefined} key */
function setToken(key) {
  token = key && { chainKey: key.chainKey, address: key.address };
  destination = undefined;
  list.setChosen(key?.id ?? '');
}

/**
 * In the layout of one column, a section may be below the visible part of the page.
 *
 * @param {string} id
 */
function bringIntoView(id) {
  const section = byId(id, HTMLElement);
  if (section.getBoundingClientRect().top > innerHeight - 120) section.scrollIntoView({ block: 'start' });
}

/** Shows what the page's address says. Without a token in it, a popular one. */
async function showLocation() {
  const state = readLocation();
  box.value = state.query;
  chains.set(state.chainKey);
  movable.checked = state.isMovable;
  setToken(state.token);
  destination = state.destination;
  await Promise.all([list.find(), state.token && chosen.open(state.token, state.destination)]);
  const popular = list.popular();
  // A person may have chosen a token meanwhile.
  if (token || !popular) return;
  list.setChosen(popular.id);
  await chosen.choose(popular);
}

addEventListener('popstate', showLocation);
addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, altKey, metaKey } = event;
  if (key !== '/' || ctrlKey || altKey || metaKey || target instanceof HTMLInputElement) return;
  event.preventDefault();
  box.focus();
  box.select();
});

showLocation();

let chainsKnown = '';
let shownFrom = '';
/** @type {{ lookSoon(): void } | undefined} */
let listings;

listings = watchListings(ask, async ([ofChains, ofTokens]) => {
  await Promise.all([list.retry(), chosen.retry()]);
  const chainsNow = `${ofChains?.version} ${ofTokens?.rows}`;
  if (chainsNow !== chainsKnown) {
    // After a failure, the next status of the listings tries again.
    const isThere = await chains.load().then(
      () => true,
      () => false,
    );
    if (isThere) chainsKnown = chainsNow;
  }
  const now = `${ofChains?.version} ${ofTokens?.takenAt}`;
  if (shownFrom && now !== shownFrom) await Promise.all([list.refresh(), chosen.refresh()]);
  shownFrom = now;
});
