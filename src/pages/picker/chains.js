/** The chips of the chains: those with most movable tokens in one line, and all of them in a list with a search. */
import { byId, cover, hasMouse, listed, make, say, tell, uncover } from './dom.js';
import { chainMark, heldBackLines } from './rows.js';
import { countText } from './text.js';

/** The line has chips for this many chains; it scrolls. */
const CHIPS = 8;

/** @typedef {import('./queries.js').Chain} Chain */

/**
 * @param {object} options
 * @param {() => string} options.chosen the key of the chosen chain, empty for all chains
 * @param {(chainKey: string) => void} options.onChoose
 * @param {() => void} options.onDone called when the next thing is often to type into the search for tokens
 */
export function createChains({ chosen, onChoose, onDone }) {
  const place = byId('chips');
  const chips = byId('chains');
  const finder = byId('find-chain', HTMLInputElement);
  const more = byId('more-chains', HTMLButtonElement);
  /** Those with more movable tokens are first. @type {Chain[]} */
  let chains = [];
  /** Whether the list of all chains is shown in place of the search and the tokens. */
  let isOpen = false;
  /** The state that the present chips were made for. */
  let made = '';
  /** The chosen chain if it is none of the first: then its chip is before the others. */
  let apart = '';

  /** Makes the chips, unless they are the same, and marks the chosen one. @returns {number} how many chains have a chip */
  function show() {
    // Until they are loaded, the page has empty chips.
    if (!chains[0]) return 0;
    const chain = chosen();
    const isListed = !chain || chains.some(({ chainKey }) => chainKey === chain);
    const all = isListed ? chains : [...chains, { chainKey: chain, name: chain, heldBack: [], tokens: null }];
    const sought = finder.value.trim().toLowerCase();
    if (!isOpen && !(mark(chain) && chain)) apart = chain;
    const next = JSON.stringify([isOpen, sought, apart]);
    const hadFocus = next !== made && chips.contains(document.activeElement);
    if (next !== made) {
      const rank = (/** @type {Chain} */ { chainKey }) => Number(chainKey === apart);
      const line = all.toSorted((a, b) => rank(b) - rank(a)).slice(0, CHIPS);
      place.classList.toggle('all', isOpen);
      chips.replaceChildren(
        ...(sought ? [] : [chipOf()]),
        ...(isOpen ? matching(all, sought) : line).map(chipOf),
      );
    }
    made = next;
    const picked = mark(chain);
    if (!picked && !isOpen) return show();
    if (picked && !isOpen) reveal(picked.labels?.[0]);
    if (hadFocus) picked?.focus({ preventScroll: true });
    // Enter chooses the first match.
    if (sought) chips.querySelector('label')?.classList.add('takes');
    if (!chips.firstElementChild) chips.append(make('p', { class: 'label' }, 'No chain matches.'));
    const count = chips.querySelectorAll('label').length - Number(!sought);
    const left = all.length - count;
    more.hidden = !isOpen && !left;
    more.ariaExpanded = String(isOpen);
    more.ariaLabel = isOpen ? 'Close the chains' : `${left} more chains`;
    say(more, isOpen ? 'Close' : `+${left}`);
    return count;
  }

  /** @param {string} chain @returns {HTMLInputElement | undefined} undefined if the chain has no chip */
  function mark(chain) {
    const inputs = [...chips.querySelectorAll('input')];
    for (const input of inputs) input.checked = input.value === chain;
    return inputs.find(({ checked }) => checked);
  }

  /** Scrolls the line to a chip, if nothing of it is in view: a chip that was clicked must not move. @param {HTMLElement} [chip] */
  function reveal(chip) {
    const { offsetLeft = 0, offsetWidth = 0 } = chip ?? {};
    const { scrollLeft, clientWidth } = chips;
    if (offsetLeft > scrollLeft + clientWidth || offsetLeft + offsetWidth < scrollLeft)
      chips.scrollLeft = offsetLeft;
  }

  function open() {
    isOpen = true;
    show();
    chips.querySelector(':checked')?.scrollIntoView({ block: 'nearest' });
    if (hasMouse) finder.focus();
    cover(onDone);
  }

  function close() {
    if (!isOpen) return;
    isOpen = false;
    finder.value = '';
    show();
    uncover(onDone);
  }

  // In place of the chips to come.
  chips.append(make('label'), make('label'), make('label'));
  more.addEventListener('click', () => (isOpen ? close() : open()));
  chips.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement) onChoose(target.value);
  });
  // After a mouse click, people often type next. A click by the keyboard has no `detail`. Delayed, because a clicked chip
  // must stay in the page until it reports its change.
  chips.addEventListener('click', ({ detail }) => detail && setTimeout(onDone));
  place.addEventListener('keydown', ({ key, target, isComposing }) => {
    const isEnter = key === 'Enter' && target === finder;
    if (!isOpen || isComposing || (key !== 'Escape' && !isEnter)) return;
    const first = /** @type {HTMLElement | null} */ (chips.querySelector('.takes'));
    if (isEnter) first?.click();
    if (key === 'Escape' || first || !finder.value.trim()) onDone();
  });
  finder.addEventListener('input', () => tell(countText(show(), 'chain')));

  return {
    show,
    close,
    /** @param {Chain[]} listed in any order */
    load(listed) {
      chains = listed.toSorted((a, b) => movable(b) - movable(a));
      made = '';
      show();
    },
  };
}

/** @param {Chain} chain */
const movable = ({ tokens }) => tokens?.filter(({ isBridgeable }) => isBridgeable).length ?? 0;

/** The chains whose name or key contains a text, first those that begin with it. @param {Chain[]} chains @param {string} sought */
function matching(chains, sought) {
  const textOf = (/** @type {Chain} */ { name, chainKey }) => `\n${name}\n${chainKey}`.toLowerCase();
  const begins = (/** @type {Chain} */ chain) => Number(textOf(chain).includes(`\n${sought}`));
  return chains.filter((chain) => textOf(chain).includes(sought)).sort((a, b) => begins(b) - begins(a));
}

/** @param {Chain} [chain] without one, the chip of all chains */
function chipOf(chain) {
  const { chainKey = '', name, heldBack = [] } = chain ?? {};
  return make(
    'label',
    {},
    make('input', { type: 'radio', name: 'chain', value: chainKey }),
    ...(chain
      ? [chainMark(chainKey, name ?? ''), listed(name || chainKey)]
      : [make('span', {}, 'All', make('span', {}, ' chains'))]),
    ...heldBackLines(heldBack).map((line) => make('span', { class: 'warning' }, line)),
  );
}
