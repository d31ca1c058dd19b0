import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { demoTokens } from '../fixtures/demo.js';
import { callOf } from '../mcp/support.js';
import { afterTests } from '../support/ends.js';
import { openLimited, startAround, startUpstream } from '../support/open-gateway.js';
import { type Received, sendHttp } from '../support/send-http.js';
import { plainOf, startServer } from '../support/test-server.js';

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A way to send a request: to the server of the process, to `fetch`, or to the handler in a server of node:http. */
type Door = (asked: Asked) => Promise<Received>;

const JSON_TYPE = { 'content-type': 'application/json' };
const PAGE = { origin: 'https://app.example' };
const GZIP = { 'accept-encoding': 'gzip' };
/** Headers that depend on the connection, the moment or the cache. */
const NOT_COMPARED = [
  // `fetch` and the handler share one response cache.
  'age',
  'cache-status',
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'last-modified',
  'transfer-encoding',
];

const [token] = demoTokens.filter(({ chainKey }) => chainKey === 'ethereum');
const ADDRESS = token?.address ?? '';
/** Queries without times, which differ between gateways. */
const QUERIES: Readonly<Record<string, string>> = {
  tokenChanges: '{ tokenChanges { cursor isReset removedIds changed { id caip19 } } }',
  chainChanges: '{ chainChanges(since: "nope") { cursor isReset removedIds changed { id caip2 } } }',
  sources: `{ sources(dstChainKey: "ethereum", dstToken: "${ADDRESS}") { isComplete asOf chains { chainKey } } }`,
  nodes: '{ tokenSearch(query: "usdc") { totalCount nodes { id symbol } didYouMean } }',
  didYouMean: '{ tokenSearch(query: "ehtereum") { nodes { id } didYouMean } }',
  chainsByCaip2: '{ chainsByCaip2(caip2s: ["eip155:1", "nope"]) { name caip2 } }',
  tokensByCaip19: `{ tokensByCaip19(caip19s: ["eip155:1/erc20:${ADDRESS}", "nope"]) { symbol caip19 } }`,
  destinations: `{ token(chainKey: "ethereum", address: "${ADDRESS}") { destinations { chainKey chain { name } tokens { id } } } }`,
};

const posted = (query: string): Asked => ({
  path: '/graphql',
  method: 'POST',
  headers: JSON_TYPE,
  body: JSON.stringify({ query }),
});
const got = (query: string, headers = {}): Asked => ({
  path: `/graphql?query=${encodeURIComponent(query)}`,
  headers,
});
const queried = (query: string, headers = {}): Asked => ({
  ...posted(query),
  method: 'QUERY',
  headers: { ...JSON_TYPE, ...headers },
});
const preflight = (path: string, method: string): Asked => ({
  path,
  method: 'OPTIONS',
  headers: { ...PAGE, 'access-control-request-method': method },
});
const agent = (body: string, headers = {}): Asked => ({
  path: '/mcp',
  method: 'POST',
  body,
  headers: { ...JSON_TYPE, ...headers },
});

const QUESTIONS: Readonly<Record<string, Asked>> = {
  ...Object.fromEntries(
    Object.entries(QUERIES).flatMap(([name, query]) => [
      [`${name} by POST`, posted(query)],
      [`${name} by GET, compressed`, got(query, GZIP)],
      [`${name} by QUERY, from a page`, queried(query, PAGE)],
    ]),
  ),
  'the head of an operation': { ...got('{ chains { name } }', GZIP), method: 'HEAD' },
  'an operation with a member that nobody knows': {
    ...posted(''),
    body: JSON.stringify({ query: '{ chains { name } }', id: 1 }),
  },
  'an operation with a long error': posted(`query A${'b'.repeat(50_000)} { nothing }`),
  'a body that is compressed': {
    ...posted(''),
    headers: { ...JSON_TYPE, 'content-encoding': 'GZIP' },
    body: gzipSync(JSON.stringify({ query: '{ chains { name } }' })).toString('latin1'),
  },
  'a body that only says that it is compressed': {
    ...posted('{ chains { name } }'),
    headers: { ...JSON_TYPE, 'content-encoding': 'identity, br' },
  },
  'a body that says that it is not compressed': {
    ...posted('{ chains { name } }'),
    headers: { ...JSON_TYPE, 'content-encoding': 'identity' },
  },
  'a compressed message for agents': agent('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', {
    'content-encoding': 'deflate',
  }),
  'QUERY, compressed': queried('{ chains { name } }', GZIP),
  'QUERY without a type': { ...queried('{ chains { name } }'), headers: {} },
  'QUERY of another type': queried('{ chains { name } }', { 'content-type': 'text/plain' }),
  'QUERY without a body': { path: '/graphql', method: 'QUERY', headers: JSON_TYPE },
  'a preflight request for QUERY': preflight('/graphql', 'QUERY'),
  'the token list': { path: '/tokenlist.json' },
  'the token list, from a page': { path: '/tokenlist.json', headers: PAGE },
  'the token list of a chain, compressed': { path: '/tokenlist.json?chainKey=Base', headers: GZIP },
  'the token list of no chain': { path: '/tokenlist.json?chainKey=nope' },
  'the token list with another parameter': { path: '/tokenlist.json?chain=base' },
  'the token list by POST': { path: '/tokenlist.json', method: 'POST', body: '{}', headers: JSON_TYPE },
  'a preflight request for the token list': preflight('/tokenlist.json', 'GET'),
  'llms.txt': { path: '/llms.txt' },
  'llms.txt, compressed': { path: '/llms.txt', headers: { 'accept-encoding': 'br' } },
  'the head of llms.txt': { path: '/llms.txt', method: 'HEAD' },
  'llms.txt by POST': { path: '/llms.txt', method: 'POST', body: '{}', headers: JSON_TYPE },
  'the schema': { path: '/schema.graphql' },
  'the tools for agents': agent('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
  'a tool without its arguments': agent(callOf('get_token')),
  'no message for agents': agent('['),
  'a message from a page': agent('{"jsonrpc":"2.0","id":1,"method":"tools/list"}', PAGE),
  'agents by GET': { path: '/mcp' },
  'a preflight request for agents': preflight('/mcp', 'POST'),
};

/** The queries whose responses have an ETag. */
const TAGGED = [
  'tokenChanges by GET, compressed',
  'didYouMean by QUERY, from a page',
  'the token list',
  'llms.txt',
];

let doors: Readonly<Record<string, Door>>;
const atEnd = afterTests();

/** With this setting no listing becomes stale. Otherwise only some of the responses would name stale listings. */
const FRESH = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };

beforeAll(async () => {
  const upstream = await startUpstream(atEnd);
  const server = await startServer({ upstream, atEnd, config: FRESH });
  const gateway = await openLimited({ ...FRESH, upstreamUrl: upstream.url, logTo: { write() {} } });
  atEnd(gateway.close);
  doors = {
    process: overHttp(server.address),
    fetch: throughFetch(gateway.fetch),
    handler: overHttp(await startAround(gateway.handler, atEnd)),
  };
  // Before both listings are fetched, responses can differ.
  for (const door of Object.values(doors)) await door(posted('{ chains { name } tokens { id } }'));
});

function overHttp(address: string): Door {
  return ({ path, ...asked }) => sendHttp(`${address}${path}`, asked);
}

function throughFetch(fetch: (request: Request) => Promise<Response>): Door {
  return async ({ path, method = 'GET', headers = {}, body }) => {
    // The body is given as bytes, because a text would get a Content-Type.
    const init = { method, headers, ...(body === undefined ? {} : { body: Buffer.from(body) }) };
    const response = await fetch(new Request(`http://gateway${path}`, init));
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: Object.fromEntries(response.headers), body: bytes };
  };
}

/** A response without the parts that differ between gateways or moments. */
function comparable(received: Received) {
  const { status, headers, body } = received;
  const compared = Object.entries(headers).filter(([name]) => !NOT_COMPARED.includes(name));
  const text = (body.length > 0 ? plainOf(received) : body).toString();
  const isTokenList = text.startsWith('{"name":"Chains and Tokens"');
  return {
    status,
    // Each gateway has fetched the listing at a different time.
    body: isTokenList ? text.replace(/"timestamp":"[^"]+"/, '') : text,
    headers: {
      ...Object.fromEntries(compared),
      'x-request-id': typeof headers['x-request-id'],
      'cache-control': headers['cache-control']?.replaceAll(/\d+/g, 'n'),
      etag: isTokenList ? typeof headers.etag : headers.etag,
    },
  };
}

/** The responses to three equal requests: executed, executed and cached, cached. */
async function answersOf(door: Door | undefined, asked: Asked) {
  if (!door) throw new Error('Expected a door');
  const answers = [];
  for (let time = 0; time < 3; time++) answers.push(comparable(await door(asked)));
  return answers;
}

describe('the process, fetch and the handler send equal responses', () => {
  it.each(Object.entries(QUESTIONS))('%s', async (_name, asked) => {
    const expected = await answersOf(doors.process, asked);
    expect(await answersOf(doors.fetch, asked)).toEqual(expected);
    expect(await answersOf(doors.handler, asked)).toEqual(expected);
    // All three responses are the same, whether cached or not.
    for (const { status, body } of expected)
      expect([status, body]).toEqual([expected[0]?.status, expected[0]?.body]);
  });

  it.each(TAGGED)('%s, with its tag', async (name) => {
    const asked = QUESTIONS[name] as Asked;
    for (const door of Object.values(doors)) {
      const { status, headers } = await door(asked);
      expect([status, headers.etag]).toEqual([200, expect.stringMatching(/^W\/"/)]);
      const again = await door({
        ...asked,
        headers: { ...asked.headers, 'if-none-match': headers.etag ?? '' },
      });
      expect([again.status, again.headers.etag, again.body.length]).toEqual([304, headers.etag, 0]);
    }
  });

  it('the head of the token list', async () => {
    for (const door of Object.values(doors)) {
      const [head, whole] = [
        await door({ path: '/tokenlist.json', method: 'HEAD' }),
        await door({ path: '/tokenlist.json' }),
      ];
      expect(head.headers['content-length']).toBe(String(whole.body.length));
      expect([head.status, head.body.length, head.headers.etag]).toEqual([200, 0, whole.headers.etag]);
    }
  });

  it('the new fields have data', async () => {
    for (const [name, query] of Object.entries(QUERIES)) {
      const { body } = await (doors.fetch as Door)(posted(query));
      const { data, errors } = JSON.parse(body.toString()) as { data: object; errors?: unknown };
      expect(errors, name).toBeUndefined();
      if (name !== 'sources') expect(Object.values(data)[0], name).toBeTruthy();
    }
  });

  it('a compressed body is refused with the supported encodings', async () => {
    for (const door of Object.values(doors)) {
      for (const [encoding, status] of [
        ['gzip', 415],
        ['x-unknown', 415],
        ['identity, gzip', 415],
        ['identity', 200],
        ['Identity, identity', 200],
        ['', 200],
      ] as const) {
        const asked = posted('{ chains { name } }');
        const answer = await door({ ...asked, headers: { ...asked.headers, 'content-encoding': encoding } });
        expect(answer.status, encoding).toBe(status);
        if (status === 200) continue;
        expect(answer.headers['accept-encoding']).toBe('identity');
        expect(answer.body.toString()).toContain('without a Content-Encoding');
      }
    }
  });
});
