/** @typedef {import('./queries.js').TokenKey} TokenKey */
/**
 * What the page shows, as its address says.
 *
 * @typedef {object} PageState
 * @property {string} query
 * @property {string} chainKey empty for all chains
 * @property {boolean} isMovable whether only tokens that can be moved are listed
 * @property {TokenKey | undefined} token
 * @property {TokenKey | undefined} destination
 */

/** Reads the state from the page's address, so that a link shows the same to others. */
export function readLocation() {
  const { searchParams } = new URL(location.href);
  /** @type {PageState} */
  const state = {
    query: searchParams.get('q') ?? '',
    chainKey: searchParams.get('chain') ?? '',
    isMovable: searchParams.get('movable') === 'true',
    token: keyOf(searchParams.get('token')),
    destination: keyOf(searchParams.get('to')),
  };
  return state;
}

/**
 * Writes the state to the page's address.
 *
 * @param {PageState} state
 * @param {boolean} isChoice whether a person chose something, which the Back button undoes
 */
export function writeLocation({ query, chainKey, isMovable, token, destination }, isChoice) {
  const address = new URL(location.href);
  const values = {
    q: query,
    chain: chainKey,
    movable: isMovable ? 'true' : '',
    token: textOf(token),
    to: textOf(destination),
  };
  for (const [name, value] of Object.entries(values)) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  // A colon may stand in a query as it is, and is easier to read.
  address.search = address.searchParams.toString().replaceAll('%3A', ':');
  if (address.href === location.href) return;
  if (isChoice) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
}

/** @param {string | null} text such as "base:0x8335…"; addresses can contain further colons */
function keyOf(text) {
  const colon = text?.indexOf(':') ?? -1;
  if (!text || colon < 1) return undefined;
  return { chainKey: text.slice(0, colon), address: text.slice(colon + 1) };
}

/** @param {TokenKey | undefined} key */
function textOf(key) {
  return key ? `${key.chainKey}:${key.address}` : '';
}
