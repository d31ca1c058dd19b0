import { byId, copyButton, listed, make, say } from './dom.js';
import { isAway, isOutdated, showFault } from './graph.js';
import { CHOSEN_TOKEN, DESTINATIONS } from './queries.js';
import { countText } from './text.js';
import { badges, priceAndAge } from './token-row.js';

/** @typedef {import('./queries.js').Token} Token */
/** @typedef {import('./queries.js').ChainDestinations} ChainDestinations */

/**
 * The chosen token, and where it can be moved to.
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
  let asking = new AbortController();
  /** @type {(() => Promise<void>) | undefined} what the gateway could not be asked */
  let unasked;

  /**
   * Runs the newest question, which makes that before it outdated.
   *
   * @param {(signal: AbortSignal) => Promise<void>} question
   */
  async function run(question) {
    asking.abort();
    asking = new AbortController();
    section.ariaBusy = 'true';
    try {
      await question(asking.signal);
      unasked = undefined;
      showFault(fault);
    } catch (error) {
      if (isOutdated(error)) return;
      const again = () => run(question);
      unasked = isAway(error) ? again : undefined;
      showFault(fault, error, again);
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
      showFault(fault);
      say(status, 'Asking where it can be moved…');
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
     * Chooses the token with this id, which a link names.
     *
     * @param {string} id
     */
    open: (id) =>
      run(async (signal) => {
        say(status, 'Asking for the chosen token…');
        const token = await fetchToken(id, signal);
        if (!token) {
          say(status, 'The token that this link names is not listed.');
          return;
        }
        showToken(token);
        await findDestinations(token, signal);
      }),
    /** Asks again what did not reach the gateway; what did, a person may, since it costs the upstream a request. */
    async retry() {
      await unasked?.();
    },
    /** Asks again for what can change. Without an answer, what is shown stays. */
    async refresh() {
      const before = chosen;
      const token = before && (await fetchToken(before.id).catch(() => undefined));
      if (!token || before !== chosen) return;
      chosen = token;
      if (token.chain?.name === before.chain?.name) showPrice(token);
      // The chain listing came later than the token.
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
