/** Draws tokens: the glyph, with the mark of its chain, the row of a list, and the summary of both chosen tokens. */
import { age, button, copy, draw, listed, make, relabel } from './dom.js';
import { differingParts, firstCharacter, isMixed, markedText, priceText, shortAddress } from './text.js';

/** @typedef {import('./queries.js').Token} Token */

/** The drawn logos of well-known symbols: a colour, and an SVG path in a square of 24 units. @type {[RegExp, string, string][]} */
const SIGNS = [
  [/USDT|USD₮|^USDt/, '#168363', 'M7 7.2h10M12 7.2V18M8.4 12.3l7.2-2M8.4 15.1l7.2-2'],
  [
    /USD|DAI$/i,
    '',
    'M15.6 9.2C15.2 7.9 13.8 7 12 7c-2 0-3.5 1-3.5 2.5 0 3.6 7.2 1.6 7.2 5.1 0 1.5-1.5 2.5-3.6 2.5-1.9 0-3.3-.9-3.8-2.3M12 5v14',
  ],
  [/EUR/i, '#2b4fa8', 'M16.4 8a5.2 5.2 0 1 0 0 8M6 10.6h7.5M6 13.4h7.5'],
  [
    /BTC/i,
    '#c96a07',
    'M9 6.6v10.8M10.6 4.8v1.8m2.6-1.8v1.8m-2.6 10.8v1.8m2.6-1.8v1.8M7.6 6.6h5.2a2.6 2.6 0 0 1 0 5.2H9m4.2 0a2.8 2.8 0 0 1 0 5.6H7.6',
  ],
  [/^(|w|st|wst|r|we|cb|m|S\*)ETH$/i, '#5569d8', 'M7 7h10M8.5 12h7M7 17h10'],
];

/** Colours of the chains with most tokens. @type {Record<string, string | null>} */
const COLORS = {
  __proto__: null,
  ethereum: '#3f4aa6',
  optimism: '#de031b',
  base: '#0052ff',
  arbitrum: '#156ba8',
  avalanche: '#c93233',
  bsc: '#9c5400',
  plasma: '#0c6b5d',
  unichain: '#d1067a',
  mantle: '#3d4048',
};

/** Hues that differ clearly. Those between red and green would be olive and brown. */
const HUES = [25, 45, 145, 190, 240, 265, 295, 325, 355];

/** A colour that depends only on the name. The numbers give Polygon and Solana about their own. @param {string} name */
function colorOf(name) {
  let hash = 0;
  for (const letter of name) hash = (hash * 33 + (letter.codePointAt(0) ?? 0)) % 1391;
  return `oklch(${44 + (hash % 2) * 4}% 0.18 ${HUES[hash % HUES.length]})`;
}

/** Draws the mark of a chain. Its name always stands beside it. @param {string} chainKey @param {string} name */
export function chainMark(chainKey, name) {
  return onColor('mark', COLORS[chainKey] ?? colorOf(chainKey), firstCharacter(name || chainKey));
}

/**
 * Makes a shape of one colour. Its letter is text: in an SVG, the browser would need much longer to lay it out.
 *
 * @param {string} name
 * @param {string} color
 * @param {Node | string} content
 */
function onColor(name, color, content) {
  const made = make('span', { class: name, 'aria-hidden': 'true' }, content);
  made.style.backgroundColor = color;
  return made;
}

/** The addresses of pictures that failed to load. They are not requested again with each new price. */
const missing = new Set();

/**
 * Draws the glyph of a token. It repeats the text beside it, so it is hidden from screen readers.
 *
 * @param {Token} token
 */
export function glyph({ symbol, chain, chainKey, logoUrl }) {
  // A symbol that only looks like a well-known one must not get its logo.
  const [, color, sign] = SIGNS.find(([pattern]) => pattern.test(symbol) && !isMixed(symbol)) ?? [];
  const place = onColor(
    'glyph',
    color || (/^USDC(\.e)?$/.test(symbol) ? '#2775ca' : colorOf(symbol)),
    sign
      ? draw('svg', { viewBox: '0 0 24 24' }, draw('path', { d: sign, 'stroke-width': '1.9' }))
      : firstCharacter(symbol).toUpperCase(),
  );
  if (logoUrl && !missing.has(logoUrl) && document.body.dataset.logos === 'true') {
    const picture = make('img', { src: logoUrl, alt: '', loading: 'lazy', referrerpolicy: 'no-referrer' });
    picture.addEventListener('error', () => {
      missing.add(logoUrl);
      picture.remove();
    });
    place.append(picture);
  }
  // Last, so that it is above the picture.
  place.append(chainMark(chainKey, chain?.name ?? ''));
  return place;
}

/** "USDC on Ethereum", as elements. @param {Pick<Token, "symbol" | "chainKey"> & Partial<Token>} token @param {string} [query] */
export function titleOf({ symbol, chain, chainKey }, query) {
  return [
    make('b', {}, listed(symbol || 'no symbol', query)),
    ' ',
    make('span', { class: 'on' }, 'on ', listed(chain?.name || chainKey, query)),
  ];
}

/** "USDC on Ethereum", as text. @param {Token} token */
export function nameOf({ symbol, chain, chainKey }) {
  return markedText(`${symbol || 'no symbol'} on ${chain?.name || chainKey}`);
}

/** @param {Token} token that is only listed @param {Token} [source] the token whose destinations are searched */
export function whyNot(token, source) {
  return `${nameOf(token)} is listed, but cannot be ${source ? `reached from ${nameOf(source)}` : 'moved'}.`;
}

/** The warnings that people must see before they choose a token. @param {Token} token */
export function warningsOf({ symbol, heldBack, chain }) {
  const from = isMixed(symbol) ? ['Letters of another script can look like these: check the address.'] : [];
  return [
    ...from,
    ...heldBackLines(heldBack),
    ...heldBackLines(chain?.heldBack ?? [], 'For the chain, the service'),
  ].map((line) => make('span', { class: 'warning' }, line));
}

/** @param {import('./queries.js').HeldBackFact[]} facts @param {string} [who] */
export function heldBackLines(facts, who = 'The service') {
  return facts.map(({ fact, served, upstream, since }) =>
    make(
      'span',
      {},
      `${who} now says ${fact.replace(/[A-Z]/, ' $&').toLowerCase()} `,
      listed(upstream),
      ' (first ',
      age(since),
      ' ago); ',
      listed(served),
      ' is shown until that is confirmed.',
    ),
  );
}

/** An address in which the characters that differ from others are marked. @param {string} address @param {string[]} others */
function comparedAddress(address, others) {
  const parts = differingParts(address, others).map((part, index) =>
    index % 2 ? make('mark', {}, listed(part)) : listed(part),
  );
  return make('code', {}, ...parts);
}

/**
 * @typedef {object} RowOptions
 * @property {string} id
 * @property {number} place its position in the group, from 1
 * @property {number} count the number of options in the group
 * @property {string} query
 * @property {string[]} twins the addresses of rows that look the same; the whole address is then shown
 * @property {boolean} isChosen
 * @property {boolean} isDisabled
 * @property {number | undefined} decimals the decimals of the source token
 */

/**
 * Makes the row of a token, an option of a list box.
 *
 * @param {Token} token
 * @param {RowOptions} options
 */
export function rowOf(token, { id, place, count, query, twins, isChosen, isDisabled, decimals }) {
  const { name, address, isNative, price } = token;
  const differs = decimals !== undefined && decimals !== token.decimals;
  const hasTwin = twins.length > 0;
  const facts = [
    ...(name ? [make('span', { class: 'name' }, listed(name, query))] : []),
    ...(isNative ? [make('span', {}, 'native asset')] : []),
    ...(isNative || hasTwin
      ? []
      : [make('code', { title: markedText(address) }, listed(shortAddress(address)))]),
    ...(hasTwin ? [make('span', { class: 'warning' }, 'looks like another')] : []),
  ];
  return make(
    'div',
    {
      role: 'option',
      id,
      class: 'row',
      'aria-selected': String(isChosen),
      'aria-disabled': isDisabled ? 'true' : undefined,
      'aria-posinset': String(place),
      'aria-setsize': String(count),
    },
    glyph(token),
    make('span', { class: 'title' }, ...titleOf(token, query)),
    ' ',
    make('span', { class: 'sub' }, ...facts.flatMap((fact, index) => (index ? [' · ', fact] : fact))),
    ' ',
    make('span', { class: 'price' }, price ? priceText(price.usd) : 'no price'),
    ...(differs
      ? [' ', make('span', { class: 'differs' }, `${token.decimals} decimals, not ${decimals}`)]
      : []),
    // The address of a native asset is only a placeholder.
    ...(hasTwin && !isNative
      ? [' ', make('span', { class: 'warning' }, comparedAddress(address, twins))]
      : []),
    ...warningsOf(token).flatMap((line) => [' ', line]),
  );
}

/**
 * Names both tokens, and says what to know before a transfer.
 *
 * @param {Token} from
 * @param {Token | null} [to]
 * @param {boolean} [isRoute] whether the service lists the route; undefined while that is unknown
 */
export function summaryOf(from, to, isRoute) {
  // Each stays in one line, if it fits.
  const named = (/** @type {Token} */ token, arrow = '') =>
    make('span', {}, arrow, glyph(token), make('span', {}, ...titleOf(token)));
  if (!to)
    return [
      make('h2', {}, named(from)),
      make('p', { class: 'label' }, `The list shows where ${nameOf(from)} can be moved.`),
    ];
  const decimals = [from, to].map(
    (token) => `${token.decimals} on ${markedText(token.chain?.name || token.chainKey)}`,
  );
  return [
    make('h2', {}, named(from), named(to, '→')),
    // The line is there while that is unknown, so that the panel below does not move then.
    isRoute === false
      ? make('p', { class: 'warning' }, 'The service lists no route between them.')
      : make(
          'p',
          { class: isRoute ? 'label done' : 'label' },
          isRoute ? 'This route is listed. A quote shows whether it works.' : 'Asking for the route…',
        ),
    ...(from.decimals === to.decimals
      ? []
      : [make('p', { class: 'warning' }, `Decimals differ: ${decimals.join(', ')}.`)]),
  ];
}

/** The identifiers of a chosen token, with a button that copies its address. @param {string} label @param {Token} token */
export function identifiersOf(label, token) {
  const { address } = token;
  // Two parts: if the address does not fit, its middle is cut, and its end stays visible.
  const text = make('code', {}, listed(address.slice(0, -6)), listed(address.slice(-6)));
  const press = button('Copy', () => copy(press, address, text, () => relabel(press, 'Copy')));
  press.ariaLabel = `Copy the address of ${nameOf(token)}`;
  const chainId = make('span', {}, listed(token.chain?.caip2 ?? token.chainKey), ' ');
  return [
    make('span', { class: 'label' }, label),
    make('span', { class: 'id' }, chainId, text),
    press,
    ...warningsOf(token),
  ];
}
