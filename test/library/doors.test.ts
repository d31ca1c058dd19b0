/** A request gets the same response from the process, from `fetch` and from the handler. */
import { beforeAll, expect, it } from 'vitest';
import { PATHS_WITHOUT_METRICS } from '../../src/http/paths.js';
import { demoTokens } from '../fixtures/demo.js';
import { callOf } from '../mcp/support.js';
import { afterTests } from '../support/ends.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { openLimited, startAround } from '../support/open-gateway.js';
import { type Received, sendHttp } from '../support/send-http.js';
import { FRESH, startServer } from '../support/test-server.js';
import { type Asked, agent, answers, got, JSON_TYPE, PAGE, posted, preflight, REQUESTS } from './requests.js';

type Door = (asked: Asked) => Promise<Received>;

const GZIP = { 'accept-encoding': 'gzip' };

const [token] = demoTokens.filter(({ chainKey }) => chainKey === 'ethereum');
const ADDRESS = token?.address ?? '';
/** Queries without times, which differ between gateways. */
const QUERIES: Readonly<Record<string, string>> = {
  sources: `{ sources(dstChainKey: "ethereum", dstToken: "${ADDRESS}") { isComplete asOf chains { chainKey } } }`,
  nodes: '{ tokenSearch(query: "usdc") { totalCount nodes { id symbol } didYouMean } }',
  destinations: `{ token(chainKey: "ethereum", address: "${ADDRESS}") { destinations { chainKey chain { name } tokens { id } } } }`,
};

const queried = (query: string, headers = {}): Asked => ({ ...posted(query, headers), method: 'QUERY' });

const NESTED = '['.repeat(8_000) + ']'.repeat(8_000);
const LIST_TOOLS = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';

const ALL: Readonly<Record<string, Asked>> = {
  ...REQUESTS,
  ...Object.fromEntries(
    Object.entries(QUERIES).flatMap(([name, query]) => [
      [`${name} by POST`, posted(query)],
      [`${name} by GET, compressed`, got(query, GZIP)],
      [`${name} by QUERY, from a page`, queried(query, PAGE)],
    ]),
  ),
  'the head of an operation': { ...got('{ chains { name } }', GZIP), method: 'HEAD' },
  'an operation with an unknown member': { ...posted(''), body: '{"query":"{ chains { name } }","id":1}' },
  'a body of too many levels': { ...posted(''), body: NESTED.repeat(10) },
  'a body of many levels': { ...posted(''), body: NESTED },
  'variables of many levels': {
    ...posted(''),
    body: `{"query":"{ chains { name } }","variables":${NESTED}}`,
  },
  'an unknown member of many levels': {
    ...posted(''),
    body: `{"query":"{ chains { name } }","x":${NESTED}}`,
  },
  'an operation with a long error': posted(`query A${'b'.repeat(50_000)} { nothing }`),
  'a compressed message for agents': agent(LIST_TOOLS, { 'content-encoding': 'deflate' }),
  'QUERY, compressed': queried('{ chains { name } }', GZIP),
  'QUERY without a type': { ...queried('{ chains { name } }'), headers: {} },
  'QUERY of another type': queried('{ chains { name } }', { 'content-type': 'text/plain' }),
  'QUERY without a body': { method: 'QUERY', headers: JSON_TYPE },
  'a preflight request for QUERY': preflight('/graphql', 'QUERY'),
  'the token list': { path: '/tokenlist.json' },
  'the token list, from a page': { path: '/tokenlist.json', headers: PAGE },
  'the token list of a chain, compressed': { path: '/tokenlist.json?chainKey=Base', headers: GZIP },
  'the token list with another parameter': { path: '/tokenlist.json?chain=base' },
  'the token list by POST': { path: '/tokenlist.json', method: 'POST', body: '{}', headers: JSON_TYPE },
  'a preflight request for the token list': preflight('/tokenlist.json', 'GET'),
  'llms.txt, compressed': { path: '/llms.txt', headers: { 'accept-encoding': 'br' } },
  'the head of llms.txt': { path: '/llms.txt', method: 'HEAD' },
  'the head of the token list': { path: '/tokenlist.json', method: 'HEAD' },
  'llms.txt by POST': { path: '/llms.txt', method: 'POST', body: '{}', headers: JSON_TYPE },
  'a tool without its arguments': agent(callOf('get_token')),
  'no message for agents': agent('['),
  'a message from a page': agent(LIST_TOOLS, PAGE),
  'agents by GET': { path: '/mcp' },
  'a preflight request for agents': preflight('/mcp', 'POST'),
};

let doors: Readonly<Record<'process' | 'fetch' | 'handler', Door>>;
const atEnd = afterTests();

beforeAll(async () => {
  const upstream = await startFakeUpstream({}, atEnd);
  const servedPaths = PATHS_WITHOUT_METRICS;
  const server = await startServer({ upstream, atEnd, config: { ...FRESH, servedPaths } });
  const open = async () => {
    const gateway = await openLimited({ ...FRESH, upstreamUrl: upstream.url, logTo: { write() {} } });
    atEnd(gateway.close);
    return gateway;
  };
  doors = {
    process: overHttp(server.address),
    fetch: throughFetch((await open()).fetch),
    handler: overHttp(await startAround((await open()).handler, atEnd)),
  };
  // Before both listings are fetched, responses can differ.
  for (const door of Object.values(doors)) await door(posted('{ chains { name } tokens { id } }'));
});

function overHttp(address: string): Door {
  return ({ path = '/graphql', ...asked }) => sendHttp(`${address}${path}`, asked);
}

function throughFetch(fetch: (request: Request) => Promise<Response>): Door {
  return async ({ path = '/graphql', method = 'GET', headers = {}, body }) => {
    // The body is given as bytes, because a text would get a Content-Type.
    const init = { method, headers, ...(body === undefined ? {} : { body: Buffer.from(body) }) };
    const response = await fetch(new Request(`http://gateway${path}`, init));
    const bytes = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: Object.fromEntries(response.headers), body: bytes };
  };
}

it.each(Object.entries(ALL))('the process, fetch and handler respond alike: %s', async (name, asked) => {
  const expected = await answers(doors.process, asked);
  expect(await answers(doors.fetch, asked)).toEqual(expected);
  expect(await answers(doors.handler, asked)).toEqual(expected);
  // Status and body are the same, cached or not.
  for (const { status, body } of expected)
    expect([status, body]).toEqual([expected[0]?.status, expected[0]?.body]);
  expect(expected[0]?.status).toBeLessThan(500);
  for (const door of Object.values(doors)) {
    const { etag = '' } = (await door(asked)).headers;
    if (etag === '') continue;
    const again = await door({ ...asked, headers: { ...asked.headers, 'if-none-match': etag } });
    expect([again.status, again.headers.etag, again.body.length]).toEqual([304, etag, 0]);
  }
  // Equal responses could all be errors, so this one must have data.
  if (name.includes('by GET, compressed')) expect(expected[0]?.body).toMatch(/^\{"data":\{(?!.*"errors")/);
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
      const answer = await door(posted('{ chains { name } }', { 'content-encoding': encoding }));
      expect(answer.status, encoding).toBe(status);
      if (status === 200) continue;
      expect(answer.headers['accept-encoding']).toBe('identity');
      expect(answer.body.toString()).toContain('without a Content-Encoding');
    }
  }
});
