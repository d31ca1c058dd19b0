import { createChainFilter } from './chain-filter.js';
import { createChosenToken } from './chosen-token.js';
import { byId } from './dom.js';
import { createGraph } from './graph.js';
import { watchListings } from './listings.js';
import { createQueryPanel } from './query-panel.js';
import { createTokenList } from './token-list.js';

const { endpoint = '', hasPlayground } = document.body.dataset;
const box = byId('search', HTMLInputElement);

// The page's address holds its state, so that a link shows the same to others.
const link = new URL(location.href).searchParams;
let chosenId = link.get('token') ?? '';

function keepAddress() {
  const address = new URL(location.href);
  for (const [name, value] of Object.entries({
    q: box.value.trim(),
    chain: chains.value(),
    token: chosenId,
  })) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(null, '', address);
}

const panel = createQueryPanel(hasPlayground === 'true' ? endpoint : undefined);
const ask = createGraph(endpoint, panel.add);
const chains = createChainFilter({
  ask,
  chosen: link.get('chain') ?? '',
  onChange: () => list.changeChain(),
});
const chosen = createChosenToken(ask);
const list = createTokenList({
  ask,
  chainKey: chains.value,
  onChoose: choose,
  onChange: keepAddress,
  onFailure: () => listings?.lookSoon(),
});

/** @param {import('./queries.js').Token} token */
function choose(token) {
  chosenId = token.id;
  keepAddress();
  chosen.choose(token);
  // In the one-column layout the panel may be below the visible part of the page.
  const section = byId('chosen', HTMLElement);
  if (section.getBoundingClientRect().top > innerHeight - 120) section.scrollIntoView({ block: 'start' });
}

box.value = link.get('q') ?? '';
list.setChosen(chosenId);
list.find().then(() => {
  // A person may have chosen another token meanwhile.
  if (chosenId && chosenId === link.get('token')) chosen.open(chosenId);
});

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
