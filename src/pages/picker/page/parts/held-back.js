import { age } from './clock.js';
import { listed, make } from './dom.js';

/** @typedef {import('../queries.js').HeldBackFact} HeldBackFact */

/**
 * Names of facts for people; a fact that is not here is shown by its own name.
 *
 * @type {ReadonlyMap<string, string>}
 */
const NAMES = new Map([
  ['chainId', 'chain id'],
  ['chainType', 'chain type'],
  ['nativeCurrency', 'native currency'],
]);

/**
 * A sentence for each fact on which the upstream contradicts what is served; none for nearly all rows.
 *
 * @param {readonly HeldBackFact[]} facts
 * @param {string} [who]
 */
export function heldBackLines(facts, who = 'The upstream now says') {
  return facts.map(({ fact, served, upstream, since }) =>
    make(
      'span',
      { class: 'held' },
      `${who} ${NAMES.get(fact) ?? fact} `,
      listed(upstream),
      ' (first ',
      age(since),
      '); ',
      listed(served),
      ' is served until it is confirmed.',
    ),
  );
}

/**
 * The sentences on a token and its chain.
 *
 * @param {Pick<import('../queries.js').Token, 'heldBack' | 'chain'>} token
 */
export function heldBackOf({ heldBack, chain }) {
  return [
    ...heldBackLines(heldBack),
    ...heldBackLines(chain?.heldBack ?? [], 'Of the chain, the upstream now says'),
  ];
}
