import { isCancelled, isUnreachable, showError } from '../graph.js';
import { addressField } from '../parts/address.js';
import { age } from '../parts/clock.js';
import { byId, listed, make } from '../parts/dom.js';
import { heldBackOf } from '../parts/held-back.js';
import { badges, priceOf } from '../parts/token-row.js';
import { CHOSEN_TOKEN, DESTINATIONS } from '../queries.js';
import { createDestinations } from './destinations.js';
import { showPair } from './pair.js';

/** @typedef {import('../queries.js').Token} Token */
/** @typedef {import('../queries.js').TokenKey} TokenKey */
/** @typedef {import('../queries.js').Destination} Destination */

/**
 * The panel of the chosen token, its destinations, and the chosen pair.
 *
 * @param {object} options
 * @param {import('../graph.js').Ask} options.ask
 * @param {(token: Token) => void} options.onOpened called when a token that was chosen by its key is known
 * @param {(destination: Destination) => void} options.onDestination called when a person chooses a destination
 */
export function createChosenToken({ ask, onOpened, onDestination }) {
  const title = byId('chosen-title', HTMLElement);
  const facts = byId('chosen-facts', HTMLElement);
  const section = byId('destinations', HTMLElement);
  const fault = byId('destinations-fault', HTMLElement);
  const destinations = createDestinations((destination) => {
    showPair(chosen, destination);
    onDestination(destination);
  });

  /** @type {Token | undefined} */
  let chosen;
  let running = new AbortController();
  /** @type {(() => Promise<void>) | undefined} repeats a query that did not reach the gateway */
  let unsent;

  /**
   * Runs queries and shows their failure. Cancels an earlier run.
   *
   * @param {(signal: AbortSignal) => Promise<void>} queries
   */
  async function run(queries) {
    running.abort();
    running = new AbortController();
    section.ariaBusy = 'true';
    try {
      await queries(running.signal);
      unsent = undefined;
      showError(fault);
    } catch (error) {
      if (isCancelled(error)) return;
      const again = () => run(queries);
      unsent = isUnreachable(error) ? again : undefined;
      showError(fault, error, again);
      if (destinations.isEmpty()) destinations.say('');
    }
    section.ariaBusy = 'false';
  }

  /**
   * @param {Token} token
   * @param {TokenKey | undefined} to the destination to choose
   * @param {AbortSignal} signal
   */
  async function findDestinations(token, to, signal) {
    const variables = { srcChainKey: token.chainKey, srcToken: token.address };
    const answer = await ask(DESTINATIONS, variables, { signal });
    const found = (answer.destinations ?? []).flatMap(({ tokens }) => tokens);
    destinations.show(found);
    const destination = to && found.find((one) => isSame(one, to));
    if (destination) destinations.mark(destination.id);
    showPair(token, destination);
  }

  /** @param {Token} token */
  function showToken(token) {
    const isOther = token.id !== chosen?.id;
    chosen = token;
    const { symbol, name, chain, chainKey, address, decimals } = token;
    title.replaceChildren(listed(symbol || 'no symbol'), ...badges(token));
    const caip2 = chain?.caip2 ? [' ', make('code', {}, listed(chain.caip2))] : [];
    facts.replaceChildren(
      ...heldBackOf(token),
      make(
        'dl',
        {},
        ...fact('Name', listed(name || 'none')),
        ...fact('Chain', listed(chain?.name ?? ''), ' ', make('code', {}, listed(chainKey)), ...caip2),
        ...fact('Address', ...addressField(address)),
        ...fact('Decimals', String(decimals)),
        ...fact('Price', ...priceAndAge(token)),
      ),
    );
    if (!isOther) return;
    destinations.clear();
    destinations.say('Loading destinations…');
    showPair();
    showError(fault);
  }

  /** @param {string} reason */
  function showNone(reason) {
    chosen = undefined;
    title.textContent = 'Chosen token';
    facts.replaceChildren(make('p', { class: 'hint' }, 'No token chosen.'));
    destinations.clear();
    destinations.say(reason);
    showPair();
  }

  /**
   * @param {TokenKey} key
   * @param {AbortSignal} [signal]
   */
  async function fetchToken({ chainKey, address }, signal) {
    const { token } = await ask(
      CHOSEN_TOKEN,
      { chainKey, address },
      { quiet: true, ...(signal ? { signal } : {}) },
    );
    return token ?? undefined;
  }

  return {
    /** @param {Token} token */
    choose(token) {
      showToken(token);
      return run((signal) => findDestinations(token, undefined, signal));
    },
    /**
     * Chooses the token with this key, from a link.
     *
     * @param {TokenKey} key
     * @param {TokenKey} [to] the destination to choose
     */
    open: (key, to) =>
      run(async (signal) => {
        if (!chosen || !isSame(chosen, key)) showNone('Loading the chosen token…');
        const token = await fetchToken(key, signal);
        if (!token) {
          showNone('The token in this link is not listed. Choose another one.');
          return;
        }
        showToken(token);
        onOpened(token);
        await findDestinations(token, to, signal);
      }),
    /** Repeats a query that did not reach the gateway. Other failures wait for a person, since routes cost the upstream a request. */
    async retry() {
      await unsent?.();
    },
    /** Fetches the token's price again. If that fails, nothing changes. */
    async refresh() {
      const before = chosen;
      const token = before && (await fetchToken(before).catch(() => undefined));
      if (!token || before !== chosen) return;
      // The chain listing may have arrived after the token, or the upstream contradicts the token now.
      if (JSON.stringify(factsOf(token)) !== JSON.stringify(factsOf(before))) showToken(token);
      chosen = token;
      facts.querySelector('dd:has(> .price)')?.replaceChildren(...priceAndAge(token));
    },
  };
}

/** @param {Token} token */
function factsOf({ chain, heldBack }) {
  return [chain, heldBack];
}

/** @param {Pick<Token, 'price'>} token */
function priceAndAge({ price }) {
  return [priceOf(price), ...(price ? [' ', age(price.asOf)] : [])];
}

const HEX = /^0x[0-9a-f]+$/i;

/**
 * Whether a token has this key. Letter case matters only in addresses that are not hex.
 *
 * @param {TokenKey} token
 * @param {TokenKey} key
 */
function isSame(token, key) {
  /** @param {string} address */
  const folded = (address) => (HEX.test(address) ? address.toLowerCase() : address);
  return token.chainKey === key.chainKey.toLowerCase() && folded(token.address) === folded(key.address);
}

/**
 * @param {string} term
 * @param {...(Node | string)} description
 */
function fact(term, ...description) {
  return [make('dt', {}, term), make('dd', {}, ...description)];
}
