/** One request costs little CPU time, whatever is in it and whichever part of the gateway answers it. */
import { expect, it } from 'vitest';
import { generatedListings } from '../fixtures/rows.js';
import { callOf } from '../mcp/support.js';
import { json, status } from '../support/fake-upstream.js';
import { type Asked, costOf, expectCheap, shareTarget, startTarget } from '../support/hostile.js';

/** A request may take this CPU time of the main thread: about three times that of a list of all 10,000 tokens. */
const MOST_MS = 100;
/** The highest CPU time for requests that may take as long as graphql-js takes for the largest list. */
const MOST_ROWS_MS = 300;
const MOST_HEAD_MS = 40;
const MOST_LOOKUPS_MS = 15;
/** Slightly less than the limit of a body. */
const BYTES = 1_000_000;

const times = <Item>(count: number, make: (nth: number) => Item) =>
  Array.from({ length: count }, (_nothing, nth) => make(nth));
const members = (count: number, value: unknown = 1) =>
  Object.fromEntries(times(count, (nth) => [`a${nth}`, value]));
const aliased = (count: number, field: (nth: number) => string): string =>
  `{ ${times(count, (nth) => `a${nth}: ${field(nth)}`).join(' ')} }`;
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const graph = (query: string, variables?: object): Asked => ({ body: { query: `${query} # $N`, variables } });
const mcp = (body: string): Asked => ({ path: '/mcp', body });
const listTools = (more: object) =>
  mcp(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', ...more }));
const list = (query: string, headers: Record<string, string> = {}): Asked => ({
  path: `/tokenlist.json${query}`,
  headers,
});

const target = shareTarget();

async function expectAllCheap(on: typeof target, requests: Readonly<Record<string, Asked>>, most = MOST_MS) {
  for (const [name, asked] of Object.entries(requests)) await expectCheap(on, name, asked, most);
}

async function leastCost(on: typeof target, asked: Asked): Promise<number> {
  const costs: number[] = [];
  for (let time = 0; time < 8; time++) costs.push((await costOf(on, asked)).cpuMs);
  return Math.min(...costs);
}

it('one request costs little, whatever its document and variables are', async () => {
  await target.ask({ query: '{ tokens { symbol } }' });
  const spreads = (count: number, body: (nth: number) => string) =>
    times(count, (nth) => `fragment F${nth} on Chain { ${body(nth)} }`).join(' ');
  const aliases = (count: number, length: number) =>
    times(count, (nth) => `${'x'.repeat(length)}${nth}: symbol`).join(' ');
  const search = 'query ($f: TokenFilter) { tokenSearch(filter: $f) { totalCount } }';
  const ask = (query: string, variables?: object): Asked => ({ body: { query, variables } });
  const requests: Readonly<Record<string, Asked>> = {
    'fragments that each spread the next one twice': ask(
      `{ chains { ...F0 } } ${spreads(40, (nth) => (nth < 39 ? `...F${nth + 1} ...F${nth + 1}` : 'name'))}`,
    ),
    'fragments that spread all that follow': ask(
      `{ chains { ...F0 } } ${spreads(28, (nth) => `name ${times(27 - nth, (next) => `...F${nth + next + 1}`).join(' ')}`)}`,
    ),
    'one field by the hundred': ask(`{ chains { ${'name '.repeat(1_900)} } }`),
    'long names for each row': ask(`{ tokens { ${aliases(30, 190)} } }`),
    'names for each row, a little too long': ask(`{ tokens { ${aliases(6, 190)} } }`),
    'a name of 14,000 characters for each row': ask(`{ tokens { ${aliases(1, 14_000)} } }`),
    'one object by the hundred': ask(`{ ${'chains { name } '.repeat(490)} }`),
    'a list of wrong variables': ask('query ($k: [TokenKey!]!) { tokensByKey(keys: $k) { id } }', {
      k: Array(250_000).fill(1),
    }),
    'an object of wrong names': ask(search, { f: members(200, 'x'.repeat(5_000)) }),
    'an object of very many wrong names': ask(search, { f: members(60_000) }),
    'items in nested lists': ask(
      `query ($v: ${'['.repeat(900)}Int${']'.repeat(900)}) { _entities(representations: [{ v: $v }]) { __typename } }`,
      { v: Array(5_000).fill(1) },
    ),
    'malformed representations': ask(
      'query ($r: [_Any!]!) { _entities(representations: $r) { __typename } }',
      { r: Array(24_000).fill({ x: 1 }) },
    ),
    'nested lists of everything': ask('{ tokens { chain { tokens { chain { name } } } } }'),
    'a long document': ask(`{ ${'a '.repeat(500_000)} }`),
    'a text of brackets': ask('{ chains { name } }', { a: '['.repeat(500_000) }),
    'very many objects': ask('{ chains { name } }', { a: Array(300_000).fill({}) }),
    'nested lists': { body: `{"query":"{ chains { name } }","variables":{"a":${nested(400_000)}}}` },
    'a long list that never ends': { body: '['.repeat(BYTES) },
    'nested lists in a form': {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `query={__typename}&variables={"a":${encodeURIComponent(nested(150_000))}}`,
    },
  };
  await expectAllCheap(target, requests, MOST_ROWS_MS);
});

it('one request costs little, however many errors its fields have', async () => {
  const entities = '_entities(representations: $r) { __typename }';
  const wrong = (count: number) => ({ r: Array(count).fill({ __typename: 'Chain', id: 5 }) });
  await expectAllCheap(target, {
    'as many as may be': graph(`query ($r: [_Any!]!) { ${entities} }`, wrong(600)),
    'too many, in thirty fields': graph(`query ($r: [_Any!]!) ${aliased(30, () => entities)}`, wrong(1_000)),
    'wrong variables with a long text of halves of characters': graph(
      'query ($f: TokenFilter) { tokenSearch(filter: $f) { totalCount } }',
      { f: { symbols: '\ud83d'.repeat(170_000), ...members(40) } },
    ),
  });
});

it('one request costs little, however long the document of many errors is', async () => {
  // The error for a `@skip` whose condition is null is copied several times.
  const document =
    'query ($r: [_Any!]!, $on: Boolean = true) { _entities(representations: $r) { ... on Chain { name @skip(if: $on) } } }';
  const r = Array(600).fill({ __typename: 'Chain', chainKey: 'ethereum' });
  const ask = (before: string) => graph(before + document, { r, on: null });
  for (const before of [' '.repeat(90_000), '\n'.repeat(90_000), `${' '.repeat(45)}\n`.repeat(1_990)])
    await expectCheap(target, `after ${before.length} characters`, ask(before), MOST_MS, ask(''));
});

it('one request costs little, however many addresses without a chain it asks routes for', async () => {
  const unlisted = (nth: number) => `tokens(srcToken: "0x9${String(nth).padStart(39, '0')}") { symbol }`;
  await target.ask({ query: '{ tokens { symbol } }' });
  await expectCheap(target, 'thirty unlisted addresses', graph(aliased(30, unlisted)), MOST_LOOKUPS_MS);
});

it('one request costs little, however often it selects the destinations of one token', async () => {
  // The fake upstream answers requests for routes with all 10,000 tokens.
  const [token] = generatedListings(1, 1).tokens;
  const ask = (count: number) =>
    graph('query ($k: [TokenKey!]!) { tokensByKey(keys: $k) { destinations { chainKey } } }', {
      k: Array(count).fill({ chainKey: token?.chainKey, address: token?.address }),
    });
  const { body } = await target.send(ask(1_200));
  expect(JSON.parse(body)).toHaveProperty('data.tokensByKey.1199.destinations.78.chainKey');
  const asMany = graph(aliased(9, () => 'tokens { symbol }'));
  expect(await leastCost(target, ask(1_200))).toBeLessThan(5 * (await leastCost(target, asMany)));
});

it('one request costs little, however many unlisted tokens it asks sources for', async () => {
  const target = await startTarget({ env: { ROUTES_SWEEP_MS: '1000' } });
  const known = async () => {
    const { body } = await target.send({ path: '/metrics' });
    return Number(/gateway_sweep_tokens_known (\d+)/.exec(body)?.[1]);
  };
  await expect.poll(known).toBeGreaterThan(2);
  target.upstream.plan('routes', status(410));
  const sources = (nth: number) =>
    `sources(dstChainKey: "ethereum", dstToken: "0x9${nth}") { chains { chainKey } }`;
  const asMany = graph('{ tokens { symbol isNative } }');
  // The 30 fields cost about twice as much as the whole list, on a slow machine up to six times. If each made its own
  // lists of tokens, they would cost 15 times as much or more.
  expect(await leastCost(target, graph(aliased(30, sources)))).toBeLessThan(
    8 * (await leastCost(target, asMany)),
  );
});

it('one request costs little, whatever its head is', async () => {
  const head = (headers: NonNullable<Asked['headers']>): Asked => ({
    ...graph('{ chains { name } }'),
    headers,
  });
  const requests = {
    'spaces before a coding': head({ 'content-encoding': `,${' '.repeat(15_000)}x` }),
    'spaces in a type': head({ 'content-type': `application/JSON${' '.repeat(15_000)}x` }),
    'media ranges': head({ accept: 'a/b;q=0.1,'.repeat(1_300) }),
  };
  await expectAllCheap(target, requests, MOST_HEAD_MS);
});

it('one request to /mcp costs little', async () => {
  const deep = `${'['.repeat(55)}${']'.repeat(55)}`;
  const find = (args: object) => mcp(callOf('find_tokens', args));
  await expectAllCheap(target, {
    'the list of tools': listTools({}),
    'a long search': find({ query: 't o k e n 1 2 $N', first: 100 }),
    'a long name of an argument': find({ ['x'.repeat(BYTES)]: 1 }),
    'a long name of a tool': mcp(callOf('x'.repeat(BYTES))),
    'many arguments': find(members(80_000)),
    'many members of an argument': find({ filter: members(60_000) }),
    'many wrong members of an argument': find({ filter: members(4_000) }),
    'many items of an argument': find({ filter: { symbols: Array(250_000).fill('a') } }),
    'many deep items': mcp(
      callOf('find_tokens', { query: [] }).replace('[]', `[${Array(8_000).fill(deep)}]`),
    ),
    'many parameters': listTools({ params: members(80_000) }),
    'many members': listTools(members(80_000)),
    'a long id': listTools({ id: 'x'.repeat(BYTES) }),
  });
});

it('one request for /tokenlist.json costs little', async () => {
  const lists = times(79, (nth) => list(`?chainKey=chain-${nth + 1}`));
  await expectAllCheap(target, {
    'all tokens': list(''),
    'all tokens, compressed': list('', { 'accept-encoding': 'br' }),
    'many tags': list('', { 'if-none-match': '"a",'.repeat(3_500) }),
    ...Object.fromEntries(lists.map((request) => [request.path, request])),
  });
});

it('one request for identifiers, changes, sources or corrected spellings costs little', async () => {
  const byCaip19 = 'query ($c: [String!]!) { tokensByCaip19(caip19s: $c) { id } }';
  const search = (query: string) => `tokenSearch(query: "${query}") { didYouMean }`;
  const letters = (nth: number) =>
    times(24, (at) => String.fromCharCode(97 + ((nth * 7 + at * 5) % 26))).join('');
  await expectAllCheap(target, {
    'eight words of 24 letters': graph(aliased(1, () => search(times(8, letters).join(' ')))),
    'eight words with slips': graph(
      aliased(1, () => search('tokne chian nubmer tokeen chaain nmuber tkoen chani')),
    ),
    'six searches with a slip': graph(aliased(6, (nth) => search(`tokne${nth}`))),
    'thirty searches with a slip': graph(aliased(30, (nth) => search(`tokne${nth}`))),
    'thirty searches of letters in brackets': graph(
      aliased(30, () => 'tokenSearch(query: "⒯⒪⒦⒠⒩") { totalCount }'),
    ),
    'one question thirty times': graph(
      `{ tokenSearch(query: "tokne chian") ${aliased(30, () => 'didYouMean')} }`,
    ),
    'many unknown identifiers': graph(byCaip19, { c: times(50_000, (nth) => `eip155:1/erc20:${nth}`) }),
    'too many identifiers': graph(byCaip19, { c: Array(250_000).fill('') }),
    'everything, as changes': graph(
      '{ tokenChanges { removedIds changed { id symbol name chain { name } } } }',
    ),
    'sources by the dozen': graph(
      aliased(30, (nth) => `sources(dstChainKey: "ethereum", dstToken: "0x${nth}") { isComplete }`),
    ),
  });
  const everything = graph(aliased(30, (nth) => `tokenChanges(since: "${nth}") { changed { id } }`));
  await expectAllCheap(target, { 'thirty times everything': everything }, MOST_ROWS_MS);
});

it('one request costs little, however often a filter repeats one chain or symbol', async () => {
  const { chains, tokens } = generatedListings(1, 10_000);
  const alike = tokens.map((row) => ({ ...row, symbol: 'A' }));
  const target = await startTarget({ listings: { chains, tokens: alike } });
  const ask = (name: string, key: string, count: number) =>
    graph(`query ($f: TokenFilter) ${aliased(20, () => 'tokenSearch(filter: $f) { totalCount }')}`, {
      f: { [name]: Array(count).fill(key) },
    });
  for (const [name, key] of Object.entries({ chainKeys: 'ethereum', symbols: 'a' })) {
    const once = await leastCost(target, ask(name, key, 1));
    expect(await leastCost(target, ask(name, key, 500)), name).toBeLessThan(5 * once);
  }
});

it('one request costs little, however many corrections its words have', async () => {
  const { chains, tokens } = generatedListings(1, 10_000);
  const letter = (nth: number) => String.fromCharCode(97 + (Math.floor(nth) % 26));
  const alike = tokens.map((row, nth) => ({
    ...row,
    name: `Gatew${letter(nth)}${letter(nth / 26)} a b c d e f g`,
  }));
  const target = await startTarget({ listings: { chains, tokens: alike } });
  const queries = [
    'a b c d e f g gatewx9',
    `${'ab'.repeat(12)} ${'cd'.repeat(12)} `.repeat(4),
    // Each word finds tokens, but together they find none.
    'gatewaa gatewba gatewca gatewda gatewea gatewfa',
    'gatewa9/gatewb9/gatewc9/gatewd9/gatewe9/gatewf9/gatewg9/gatewh9',
  ];
  const ask = (query: string) => graph(`{ tokenSearch(query: "${query}") { didYouMean } }`);
  await expectAllCheap(target, Object.fromEntries(queries.map((query) => [query, ask(query)])));
});

it('one request for changes since a cursor of long ago costs little', async () => {
  const target = await startTarget({ env: { ADMIN_PORT: '0' } });
  const cursorOf = async () => {
    const { body } = await target.ask({ query: '{ tokenChanges { cursor } }' });
    return (JSON.parse(body) as { data: { tokenChanges: { cursor: string } } }).data.tokenChanges.cursor;
  };
  const first = await cursorOf();
  const { tokens } = generatedListings(80, 10_000);
  const renamed = (tokens as readonly { name: string }[]).map((token, nth) =>
    nth < 3_000 ? { ...token, name: `${token.name} again` } : token,
  );
  target.upstream.plan('tokens', json({ tokens: renamed }));
  expect((await fetch(`${target.admin}/refresh`, { method: 'POST' })).status).toBe(200);
  expect(await cursorOf()).not.toBe(first);
  const ask = (fields: string) => graph(aliased(30, () => `tokenChanges(since: "${first}") { ${fields} }`));
  await expectAllCheap(target, { 'the cursor alone': ask('cursor') });
  await expectAllCheap(target, { '90,000 rows': ask('changed { id }') }, MOST_ROWS_MS);
});

it('the first request for the playground costs little, although its files have 9 MB', async () => {
  const target = await startTarget({ tokenCount: 100 });
  // Loads GraphQL Yoga.
  await target.send({ path: '/unknown' });
  const { cpuMs, status } = await costOf(target, { path: '/graphql', headers: { accept: 'text/html' } });
  expect(status).toBe(200);
  expect(cpuMs).toBeLessThan(2 * MOST_MS);
});
