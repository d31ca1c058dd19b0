import { byId, copyButton, listed, make, say } from './dom.js';
import { isCancelled, isUnreachable, showError } from './graph.js';
import { CHOSEN_TOKEN, DESTINATIONS } from './queries.js';
import { countText } from './text.js';
import { badges, priceAndAge } from './token-row.js';

/** @typedef {import('./queries.js').Token} Token */
/** @typedef {import('./queries.js').ChainDestinations} ChainDestinations */

/**
 * The panel of the chosen token and its destinations.
 *
 * @param {import('./graph.js').Ask} ask
 */
export function createChosenToken(ask) {
  const title = byId('chosen-title', HTMLElement);
  const facts = byId('chosen-facts', HTMLElement);
  const section = byId('destinations', HTMLElement);
  const status = byId('destinations-found', HTMLElement);
  const fault = byId('destinations-fault', HTMLElement);
  const groups = byId('groups', HTMLUListElement);

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
      if (groups.children.length === 0) say(status, '');
    }
    section.ariaBusy = 'false';
  }

  /** @param {Token} token */
  async function choose(token) {
    const isOther = token.id !== chosen?.id;
    showToken(token);
    if (isOther) {
      groups.replaceChildren();
      showError(fault);
      say(status, 'Loading destinations…');
    }
    await run((signal) => findDestinations(token, signal));
  }

  /**
   * @param {Token} token
   * @param {AbortSignal} signal
   */
  async function findDestinations({ chainKey, address }, signal) {
    const { destinations } = await ask(
      DESTINATIONS,
      { srcChainKey: chainKey, srcToken: address },
      { signal },
    );
    showDestinations(destinations ?? []);
  }

  /** @param {Token} token */
  function showToken(token) {
    chosen = token;
    const { symbol, name, chain, chainKey, address, decimals, price } = token;
    title.replaceChildren(listed(symbol || 'no symbol'), ...badges(token));
    const written = make('code', {}, listed(address));
    const caip2 = chain?.caip2 ? [' ', make('code', {}, listed(chain.caip2))] : [];
    facts.replaceChildren(
      make(
        'dl',
        {},
        ...fact('Name', listed(name || 'none')),
        ...fact('Chain', listed(chain?.name ?? ''), ' ', make('code', {}, listed(chainKey)), ...caip2),
        ...fact('Address', written, ' ', copyButton('Copy', written)),
        ...fact('Decimals', String(decimals)),
        ...fact('Price', ...priceAndAge(price)),
      ),
    );
  }

  /** @param {ChainDestinations[]} destinations */
  function showDestinations(destinations) {
    const count = destinations.reduce((sum, { tokens }) => sum + tokens.length, 0);
    say(
      status,
      count === 0
        ? 'The upstream lists no token that this one can be moved to.'
        : `${countText(count, 'token')} on ${countText(destinations.length, 'chain')}`,
    );
    groups.replaceChildren(...destinations.map(group));
  }

  return {
    choose,
    /**
     * Chooses the token with this id, from a link.
     *
     * @param {string} id
     */
    open: (id) =>
      run(async (signal) => {
        say(status, 'Loading the chosen token…');
        const token = await fetchToken(id, signal);
        if (!token) {
          say(status, 'The token in this link is not listed. Choose another one.');
          return;
        }
        showToken(token);
        await findDestinations(token, signal);
      }),
    /** Repeats a query that did not reach the gateway. Other failures wait for a person, since routes cost the upstream a request. */
    async retry() {
      await unsent?.();
    },
    /** Fetches the token's price again. If that fails, nothing changes. */
    async refresh() {
      const before = chosen;
      const token = before && (await fetchToken(before.id).catch(() => undefined));
      if (!token || before !== chosen) return;
      chosen = token;
      if (token.chain?.name === before.chain?.name) showPrice(token);
      // The chain listing arrived after the token.
      else showToken(token);
    },
  };

  /**
   * @param {string} id
   * @param {AbortSignal} [signal]
   */
  async function fetchToken(id, signal) {
    const { node } = await ask(CHOSEN_TOKEN, { id }, { quiet: true, ...(signal ? { signal } : {}) });
    return node && 'address' in node ? node : undefined;
  }

  /** @param {Token} token */
  function showPrice({ price }) {
    facts.querySelector('dd:has(> .price)')?.replaceChildren(...priceAndAge(price));
  }
}

/**
 * @param {string} term
 * @param {...(Node | string)} description
 */
function fact(term, ...description) {
  return [make('dt', {}, term), make('dd', {}, ...description)];
}

/** @param {ChainDestinations} destinations */
function group({ chainKey, chain, tokens }) {
  const title = make(
    'h3',
    {},
    listed(chain?.name || chainKey),
    ' ',
    make('span', { class: 'count' }, String(tokens.length)),
  );
  const rows = tokens.map(({ symbol, name, decimals }) =>
    make(
      'li',
      {},
      make('strong', {}, listed(symbol || 'no symbol')),
      ' ',
      make('span', { class: 'subtitle' }, listed(name)),
      ' ',
      make('span', { class: 'decimals' }, countText(decimals, 'decimal')),
    ),
  );
  return make('li', {}, title, make('ul', {}, ...rows));
}
