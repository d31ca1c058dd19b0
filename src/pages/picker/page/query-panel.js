import { byId, copyButton, make } from './dom.js';

const ORDER = ['Tokens', 'Destinations', 'ChosenToken', 'Chains', 'Listings'];

/**
 * Shows the queries that produced what is seen, one at a time: that of the last thing a person did, or the one chosen.
 *
 * @param {string | undefined} playground where a query can be opened
 */
export function createQueryPanel(playground) {
  const operations = byId('operations', HTMLFieldSetElement);
  const place = byId('query', HTMLElement);
  /** @type {Map<string, import('./graph.js').Answered>} */
  const last = new Map();
  const choices = new Map(
    ORDER.map((name) => {
      const input = make('input', { type: 'radio', name: 'operation', value: name });
      return [name, { input, label: make('label', { hidden: '' }, input, name) }];
    }),
  );
  let shown = '';

  /** @param {string} name */
  function show(name) {
    const answered = last.get(name);
    if (!answered) return;
    shown = name;
    for (const [other, { input }] of choices) input.checked = other === name;
    const { query, variables, tookMs } = answered;
    const text = make('code', {}, query.text);
    const values = make('code', {}, JSON.stringify(variables, null, 2));
    const open =
      playground &&
      make('a', { class: 'button', href: addressOf(playground, answered) }, 'Open in the playground');
    place.replaceChildren(
      make('div', { class: 'actions' }, ...(open ? [open] : []), copyButton('Copy query', text)),
      make('pre', { 'aria-label': 'Query', role: 'group' }, text),
    );
    if (Object.keys(variables).length > 0) {
      place.append(
        make('div', { class: 'actions' }, make('h3', {}, 'Variables'), copyButton('Copy variables', values)),
        make('pre', { 'aria-label': 'Variables', role: 'group' }, values),
      );
    }
    place.append(make('p', { class: 'hint' }, `Answered in ${Math.max(1, Math.round(tookMs))} ms.`));
  }

  operations.append(...[...choices.values()].map(({ label }) => label));
  operations.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLInputElement) show(target.value);
  });

  return {
    /** @param {import('./graph.js').Answered} answered */
    add(answered) {
      const { name } = answered.query;
      const before = last.get(name);
      last.set(name, answered);
      choices.get(name)?.label.removeAttribute('hidden');
      const isSame = before && JSON.stringify(before.variables) === JSON.stringify(answered.variables);
      // What stays the same stays as it is: somebody may be marking a part of it.
      if (shown === name ? !isSame : !answered.quiet || shown === '') show(name);
    },
  };
}

/**
 * @param {string} playground
 * @param {import('./graph.js').Answered} answered
 */
function addressOf(playground, { query, variables }) {
  const parameters = new URLSearchParams({ query: query.text });
  if (Object.keys(variables).length > 0) parameters.set('variables', JSON.stringify(variables, null, 2));
  return `${playground}?${parameters}`;
}
