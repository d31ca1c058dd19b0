import { copyButton } from '../parts/copy.js';
import { byId, make } from '../parts/dom.js';

const ORDER = ['Tokens', 'Destinations', 'ChosenToken', 'Chains', 'Listings'];

/**
 * Shows one of the queries behind the page: the one of the person's last action, or the one chosen here.
 *
 * @param {string | undefined} playground path of a playground that can open a query
 */
export function createQueryPanel(playground) {
  const operations = byId('operations', HTMLFieldSetElement);
  const place = byId('query', HTMLElement);
  /** @type {Map<string, import('../graph.js').Answered>} */
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
    const json = JSON.stringify(variables, null, 2);
    const values = make('code', {}, json);
    const open =
      playground &&
      make('a', { class: 'button', href: addressOf(playground, answered) }, 'Open in the playground');
    place.replaceChildren(
      make('div', { class: 'actions' }, ...(open ? [open] : []), copyButton('Copy query', query.text, text)),
      make('pre', { 'aria-label': 'Query', role: 'group' }, text),
    );
    if (Object.keys(variables).length > 0) {
      place.append(
        make(
          'div',
          { class: 'actions' },
          make('h3', {}, 'Variables'),
          copyButton('Copy variables', json, values),
        ),
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
    /** @param {import('../graph.js').Answered} answered */
    add(answered) {
      const { name } = answered.query;
      const before = last.get(name);
      last.set(name, answered);
      choices.get(name)?.label.removeAttribute('hidden');
      const isSame = before && JSON.stringify(before.variables) === JSON.stringify(answered.variables);
      // Do not redraw the same query: somebody may be selecting a part of it.
      if (shown === name ? !isSame : !answered.quiet || shown === '') show(name);
    },
  };
}

/**
 * @param {string} playground
 * @param {import('../graph.js').Answered} answered
 */
function addressOf(playground, { query, variables }) {
  const parameters = new URLSearchParams({ query: query.text });
  if (Object.keys(variables).length > 0) parameters.set('variables', JSON.stringify(variables, null, 2));
  return `${playground}?${parameters}`;
}
