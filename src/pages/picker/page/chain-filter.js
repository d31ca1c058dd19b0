import { byId, listed, make, say } from './dom.js';
import { CHAINS } from './queries.js';

/**
 * The choice of a chain, sorted by name, each with its number of tokens.
 *
 * @param {object} options
 * @param {import('./graph.js').Ask} options.ask
 * @param {string} options.chosen chainKey from a link; kept even if no such chain is listed
 * @param {() => void} options.onChange
 */
export function createChainFilter({ ask, chosen, onChange }) {
  const opener = byId('chain', HTMLButtonElement);
  const choice = byId('chains', HTMLElement);
  const narrow = byId('narrow', HTMLInputElement);
  const radios = byId('chain-choices', HTMLFieldSetElement);
  const collator = new Intl.Collator('en', { numeric: true });
  let value = chosen;

  /** @param {import('./queries.js').Chain[]} chains */
  function show(chains) {
    const named = chains.map((chain) => ({ ...chain, name: chain.name || chain.chainKey }));
    if (value && !named.some(({ chainKey }) => chainKey === value)) {
      named.push({ chainKey: value, name: value, tokenCount: null });
    }
    named.sort((a, b) => collator.compare(a.name, b.name));
    radios.replaceChildren(
      ...radios.querySelectorAll('legend'),
      ...[{ chainKey: '', name: 'All chains', tokenCount: null }, ...named].map(radio),
    );
    showName();
    narrowDown();
  }

  /** @param {import('./queries.js').Chain} chain */
  function radio({ chainKey, name, tokenCount }) {
    const input = make('input', { type: 'radio', name: 'chain', value: chainKey, 'data-name': name });
    input.checked = chainKey === value;
    const count = tokenCount === null ? [] : [' ', make('span', { class: 'count' }, String(tokenCount))];
    return make(
      'label',
      { 'data-words': `${name} ${chainKey}`.toLowerCase() },
      input,
      listed(name),
      ...count,
    );
  }

  function showName() {
    const checked = radios.querySelector('input:checked');
    say(
      byId('chain-name', HTMLElement),
      checked instanceof HTMLInputElement ? (checked.dataset.name ?? '') : value,
    );
  }

  function narrowDown() {
    const words = narrow.value.trim().toLowerCase();
    for (const label of radios.querySelectorAll('label'))
      label.hidden = !label.dataset.words?.includes(words);
  }

  radios.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    value = target.value;
    showName();
    onChange();
  });
  // Arrow keys only pass over chains; a click or Enter closes the choice.
  radios.addEventListener('click', ({ detail, target }) => {
    if (detail > 0 && target instanceof HTMLInputElement) choice.hidePopover();
  });
  choice.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    if (event.target === narrow) {
      const first = radios.querySelector('label:not([hidden]) input');
      if (first instanceof HTMLInputElement) first.click();
    }
    choice.hidePopover();
  });
  narrow.addEventListener('input', narrowDown);
  choice.addEventListener('beforetoggle', () => {
    narrow.value = '';
    narrowDown();
    const { left, right, bottom } = opener.getBoundingClientRect();
    const width = Math.min(320, innerWidth - 32);
    choice.style.left = `${Math.max(16, Math.min(left, right - width))}px`;
    choice.style.top = `${bottom + 4}px`;
    choice.style.width = `${width}px`;
    choice.style.maxHeight = `${Math.max(240, innerHeight - bottom - 20)}px`;
  });
  choice.addEventListener('toggle', () =>
    radios.querySelector('input:checked')?.scrollIntoView({ block: 'nearest' }),
  );
  show([]);

  return {
    value: () => value,
    /** Fetches the chains. Until then, "All chains" can be searched. */
    async load() {
      const { chains } = await ask(CHAINS, {}, { quiet: true });
      show(chains ?? []);
    },
  };
}
