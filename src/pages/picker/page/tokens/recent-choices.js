import { button, byId, make } from '../parts/dom.js';
import { chainOf, symbolOf } from '../parts/token-row.js';

const STORED_AS = 'token-picker.recent';
const MOST = 5;

/** @typedef {{ chainKey: string, address: string, symbol: string, chain: { name: string } }} Recent */

/**
 * The tokens chosen last, which only this browser remembers.
 *
 * @param {(key: import('../queries.js').TokenKey) => void} onChoose
 */
export function createRecentChoices(onChoose) {
  const place = byId('recent', HTMLElement);
  const choices = byId('recent-choices', HTMLElement);
  let recent = read();

  function show() {
    place.hidden = recent.length === 0;
    choices.replaceChildren(
      ...recent.map((token) => {
        const made = button('', () => {
          add(token);
          onChoose({ chainKey: token.chainKey, address: token.address });
        });
        made.append(symbolOf(token.symbol), ' ', chainOf(token));
        return make('li', {}, made);
      }),
    );
  }

  /** @param {Pick<import('../queries.js').Token, 'chainKey' | 'address' | 'symbol'> & { chain: { name: string } | null }} token */
  function add({ chainKey, address, symbol, chain }) {
    const others = recent.filter((one) => one.chainKey !== chainKey || one.address !== address);
    recent = [{ chainKey, address, symbol, chain: { name: chain?.name || chainKey } }, ...others].slice(
      0,
      MOST,
    );
    write(recent);
    show();
  }

  byId('forget', HTMLButtonElement).addEventListener('click', () => {
    recent = [];
    write(recent);
    show();
    byId('search', HTMLInputElement).focus();
  });
  show();

  return { add };
}

/** @returns {Recent[]} */
function read() {
  try {
    /** @type {unknown} */
    const stored = JSON.parse(localStorage.getItem(STORED_AS) ?? '[]');
    return Array.isArray(stored) ? stored.filter(isRecent).slice(0, MOST) : [];
  } catch {
    // The browser forbids storage, or another program wrote there.
    return [];
  }
}

/** @param {readonly Recent[]} recent */
function write(recent) {
  try {
    if (recent.length > 0) localStorage.setItem(STORED_AS, JSON.stringify(recent));
    else localStorage.removeItem(STORED_AS);
  } catch {
    // Without storage they last as long as the page.
  }
}

/**
 * @param {unknown} value
 * @returns {value is Recent}
 */
function isRecent(value) {
  const { chainKey, address, symbol, chain } = /** @type {Partial<Recent>} */ (value ?? {});
  return [chainKey, address, symbol, chain?.name].every((text) => typeof text === 'string');
}
