import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { stopClocks } from '../support/clock.js';
import { afterTests } from '../support/ends.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { postOf, sendRaw } from '../support/raw-http.js';
import {
  type Asked,
  pathOf,
  plainOf,
  type Received,
  startServer,
  type TestServer,
} from '../support/test-server.js';

const LONG = { config: { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 } };
const QUERY = '{ tokens { symbol name } }';
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const SMALL = '{ chain(chainKey: "base") { name } }';

/** A server with a response cache, and one without; most tests share them. */
let server: TestServer;
let uncached: TestServer;
const atEnd = afterTests();

beforeAll(async () => {
  const start = async (maxCacheBytes?: number) =>
    startServer({
      ...LONG,
      upstream: await startFakeUpstream({ chains: demoChains, tokens: demoTokens.slice(0, 100) }),
      ...(maxCacheBytes ? { maxCacheBytes } : {}),
      atEnd,
    });
  server = await start();
  uncached = await start(1);
});

/** The parts of a response that are equal for equal requests. */
function comparable({ status: code, headers, body }: Received) {
  const { date: _date, 'x-request-id': _id, connection: _connection, ...others } = headers;
  const { 'last-modified': _modified, 'cache-control': control, age: _age, ...rest } = others;
  const { 'cache-status': _status, ...same } = rest;
  return { code, headers: same, control: control?.replace(/max-age=\d+/, ''), body: body.toString() };
}

describe('a request never gets the response to another one', () => {
  const asBody = (variables: string) => {
    const query = 'query ($m: Float) { tokenSearch(filter: { minPriceUsd: $m }) { totalCount } }';
    return { body: `{"query":${JSON.stringify(query)},"variables":{"m":${variables}}}` };
  };
  const ofKey = (key: string) => ({
    query: 'query ($key: String!) { chain(chainKey: $key) { name } }',
    variables: { key },
  });
  const operation = (operationName: string) => ({
    query: `query A ${SMALL} query B ${QUERY}`,
    operationName,
  });
  const persisted = (query: unknown) => ({
    query,
    extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } },
  });

  it.each<[string, Asked, Asked]>([
    ['with other variables', ofKey('base'), ofKey('sei')],
    ['with another alias', { query: QUERY }, { query: QUERY.replace('symbol name', 'name: symbol') }],
    ['with another operation of the document', operation('A'), operation('B')],
    ['with a string in other white space', { query: SMALL }, { query: SMALL.replace('"base', '" base') }],
    ['with a number beyond the range of numbers', asBody('null'), asBody('1e400')],
    [
      'with another type of body',
      { query: SMALL },
      { query: SMALL, headers: { 'content-type': 'application/json-seq' } },
    ],
    ['with "undefined" accepted', { query: SMALL }, { query: SMALL, headers: { accept: 'undefined' } }],
    ['with nothing of use accepted', { query: SMALL }, { query: SMALL, headers: { accept: 'image/png' } }],
    [
      'with another charset accepted',
      { query: SMALL },
      { query: SMALL, headers: { accept: 'application/json;charset=utf-16' } },
    ],
    ['with an unknown member', { query: SMALL }, { body: JSON.stringify({ query: SMALL, x: 1 }) }],
    [
      'with __proto__ as a member',
      { query: SMALL },
      { body: `{"query":${JSON.stringify(SMALL)},"__proto__":{"x":1}}` },
    ],
    ['in a list of its own', { query: SMALL }, { body: JSON.stringify([{ query: SMALL }]) }],
    ['with variables in a list', { query: SMALL }, { body: JSON.stringify({ query: SMALL, variables: [] }) }],
    ['with variables as text', { query: SMALL }, { body: JSON.stringify({ query: SMALL, variables: '{}' }) }],
    ['with an empty name', { query: SMALL }, { query: SMALL, operationName: '' }],
    ['with another name', { query: `query A ${SMALL}` }, { query: `query A ${SMALL}`, operationName: 'B' }],
    [
      'with the other of two members',
      { query: SMALL },
      { body: `{"query":${JSON.stringify(SMALL)},"query":"{ __typename }"}` },
    ],
    ['with a query that is no text', { query: SMALL }, { body: JSON.stringify(persisted(5)) }],
    ['by HEAD', { query: SMALL, method: 'GET' }, { query: SMALL, method: 'HEAD' }],
    ['by PUT', { query: SMALL }, { query: SMALL, method: 'PUT' }],
    ['by DELETE', { query: SMALL, method: 'GET' }, { query: SMALL, method: 'DELETE' }],
    ['by OPTIONS', { query: SMALL, method: 'GET' }, { query: SMALL, method: 'OPTIONS' }],
    [
      'with a second text, which is ignored',
      { query: SMALL, method: 'GET' },
      { method: 'GET', path: `${pathOf({ query: SMALL })}&query=x` },
    ],
  ])('%s', async (_name, kept, other) => {
    const expected = comparable(await uncached.ask(other));
    const { ask, countExecuted } = server;
    for (let nth = 0; nth < 2; nth++) expect((await ask(kept)).status).toBe(200);
    expect((await countExecuted(kept)).count).toBe(0);
    for (let nth = 0; nth < 2; nth++) expect(comparable(await ask(other))).toEqual(expected);
  });

  it('with a hash of another text', async () => {
    const { ask } = server;
    const sha256Hash = createHash('sha256').update(SMALL).digest('hex');
    const asked = (query: string | null, sha256Hash: string) => ({
      body: JSON.stringify({ query, extensions: { persistedQuery: { version: 1, sha256Hash } } }),
    });
    for (let nth = 0; nth < 2; nth++) expect((await ask(asked(SMALL, sha256Hash))).status).toBe(200);
    for (const query of [`${SMALL} `, `${SMALL}#`])
      expect((await ask(asked(query, sha256Hash))).status).toBe(400);
    expect((await ask(asked(null, sha256Hash))).body.toString()).toContain('"Base"');
    expect((await ask(asked(null, 'b'.repeat(64)))).body.toString()).toContain('PERSISTED_QUERY_NOT_FOUND');
  });
});

describe('an Accept header', () => {
  it.each<[string | undefined, string]>([
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/json', 'application/json'],
    ['application/graphql-response+json', 'application/graphql-response+json'],
    ['application/graphql-response+json, application/json;q=0.9', 'application/graphql-response+json'],
    ['text/event-stream', 'text/event-stream'],
    ['multipart/mixed', 'multipart/mixed'],
  ])('of %s gets %s each time, and a complete body', async (accept, type) => {
    const { ask } = server;
    for (const other of ['application/graphql-response+json', '*/*', 'text/html']) {
      await ask({ query: QUERY, method: 'GET', headers: { accept: other } });
    }
    const executed = await ask({ query: QUERY });
    for (const method of ['GET', 'POST', 'GET', 'POST']) {
      const headers = { 'accept-encoding': 'br', ...(accept ? { accept } : {}) };
      const answer = await ask({ query: QUERY, method, headers });
      expect(answer.status).toBe(200);
      expect(answer.headers['content-type']?.split(';')[0]).toBe(type);
      // Streams are marked "none": proxies must not compress them.
      const isPlain = answer.headers['content-encoding'] === 'none';
      expect((isPlain ? answer.body : plainOf(answer)).toString()).toContain(executed.body.toString());
    }
  });

  it.each<[string, readonly (string | undefined)[]]>([
    ['*', ['br', 'zstd', 'gzip', undefined]],
    ['identity;q=0', [undefined]],
    ['gzip;q=0.5, br;q=0.1', ['br', 'gzip']],
    ['br;q=0, gzip;q=0.000', [undefined]],
    ['GZIP', ['gzip']],
    ['gzip, deflate, br', ['br']],
    ['br;q=0, gzip', ['gzip']],
    ['deflate', [undefined]],
    ['br;q=0,*', ['zstd', 'gzip', undefined]],
  ])('of encodings "%s" gets only an accepted one', async (accepted, allowed) => {
    const { ask } = server;
    const plain = await ask({ query: QUERY });
    for (let nth = 0; nth < 2; nth++) {
      const answer = await ask({ query: QUERY, headers: { 'accept-encoding': accepted } });
      const { 'content-encoding': encoding, 'content-length': length } = answer.headers;
      expect(allowed).toContain(encoding);
      expect(Number(length)).toBe(answer.body.length);
      if (encoding) expect(answer.body.length).toBeLessThan(plain.body.length / 3);
      expect(plainOf(answer).equals(plain.body)).toBe(true);
    }
  });
});

it('leaves small responses uncompressed', async () => {
  const { headers } = await server.ask({ query: SMALL, headers: { 'accept-encoding': 'br' } });
  expect(headers['content-encoding']).toBeUndefined();
});

describe('the headers of a response', () => {
  it('forbid caching of errors and of the status of the listings, and never have the id of another response', async () => {
    const { ask } = server;
    const ids = new Set<unknown>();
    const asked: Asked[] = [
      { query: SMALL },
      { query: '{ nope }' },
      { query: '{' },
      { body: '' },
      { query: '' },
      { query: '{ listings { ageSeconds } }' },
      { query: '{ tokenSearch(first: 0) { totalCount } }' },
    ];
    for (const one of [...asked, ...asked, ...asked]) {
      for (const method of ['GET', 'POST']) {
        const { headers } = await ask({ ...one, method });
        ids.add(headers['x-request-id']);
        if (one.query === SMALL) continue;
        expect(headers).toMatchObject({ 'cache-control': 'no-store' });
        expect(headers.etag ?? headers['last-modified']).toBeUndefined();
      }
    }
    expect(ids.size).toBe(42);
  });

  it('limit its age to the time that its listings stay fresh', async () => {
    const { ask } = await startServer({
      config: {
        chainsFreshMs: 5_000_000,
        tokensFreshMs: 500_000,
        destinationsFreshMs: 150_000,
        priceMaxAgeMs: 200_000,
      },
    });
    const maxAge = async (query: string) => {
      const { headers } = await ask({ query, method: 'GET' });
      return Number(/max-age=(\d+)/.exec(headers['cache-control'] ?? '')?.[1]);
    };
    for (const [query, atMost] of [
      ['{ chains { name } }', 5_000],
      ['{ chains { tokenCount } }', 500],
      ['{ tokens { price { usd } } }', 200],
      ['{ destinations(srcChainKey: "base", srcToken: "0x1") { chainKey } }', 500],
      [`{ destinations(srcChainKey: "ethereum", srcToken: "${USDC}") { chainKey } }`, 150],
    ] as const) {
      for (let nth = 0; nth < 2; nth++) {
        const age = await maxAge(query);
        expect(age, query).toBeLessThanOrEqual(atMost);
        expect(age, query).toBeGreaterThan(atMost / 2 - 1);
      }
    }
  });

  it('name the stale listings that it read, with their ages at that moment', async () => {
    const clock = stopClocks();
    const { ask, countExecuted } = await startServer({
      config: { chainsFreshMs: 3_600_000, tokensFreshMs: 600_000 },
    });
    await ask({ query: QUERY });
    clock.advance(599_500);
    const chains = { query: '{ chains { name } }', method: 'GET' };
    const tokens = { query: QUERY, method: 'GET' };
    for (const age of [600, 601]) {
      clock.advance(1_000);
      expect((await ask(tokens)).headers['x-stale-listings']).toBe(`tokens;age=${age}`);
    }
    expect((await countExecuted(tokens)).count).toBe(0);
    const { headers } = await ask(tokens);
    expect(headers['cache-control']).toMatch(/^public, max-age=0,/);
    expect(headers.age).toBe('0');
    const taken = Date.parse(headers['last-modified'] ?? '');
    expect(Math.floor((Date.now() - taken) / 1000)).toBeOneOf([601, 602]);
    expect((await ask(chains)).headers['x-stale-listings']).toBeUndefined();
    expect((await ask(chains)).headers['x-stale-listings']).toBeUndefined();
  });

  it('allow each origin its own access, whichever origin sent the same request before', async () => {
    const { ask } = await startServer({
      config: { ...LONG.config, corsOrigins: ['https://a.example', 'https://c.example'] },
    });
    for (const origin of [
      'https://a.example',
      'https://b.example',
      undefined,
      'https://c.example',
      'https://a.example',
      'null',
    ]) {
      for (const method of ['GET', 'POST']) {
        const { headers } = await ask({ query: SMALL, method, headers: origin ? { origin } : {} });
        const isAllowed = origin === 'https://a.example' || origin === 'https://c.example';
        expect(headers['access-control-allow-origin']).toBe(isAllowed ? origin : undefined);
        expect(headers['access-control-allow-credentials']).toBeUndefined();
        expect(headers.vary).toContain('Origin');
      }
    }
  });

  it.each([
    ['none', 'x'],
    ['one without quotes', 'etag-of-nobody'],
    ['an unended one', '"'],
    ['many', Array.from({ length: 500 }, (_nothing, nth) => `"${nth}"`).join(',')],
  ])('do not make it a 304 if the client sends %s as a tag', async (_name, ifNoneMatch) => {
    const { ask } = server;
    const plain = await ask({ query: QUERY, method: 'GET' });
    for (let nth = 0; nth < 2; nth++) {
      const answer = await ask({ query: QUERY, method: 'GET', headers: { 'if-none-match': ifNoneMatch } });
      expect(answer.status).toBe(200);
      expect(answer.body.equals(plain.body)).toBe(true);
    }
  });

  it('do not make it a 304 if a header that matters is sent twice', async () => {
    const { address, ask } = server;
    const { headers, body } = await ask({ query: SMALL, method: 'GET' });
    const target = pathOf({ query: SMALL });
    for (const twice of [
      `If-None-Match: ${headers.etag}\r\nIf-None-Match: "x"`,
      'Accept: image/png\r\nAccept: application/json',
      'Origin: https://a.example\r\nOrigin: https://b.example',
    ]) {
      const sent = `GET ${target} HTTP/1.1\r\nHost: x\r\n${twice}\r\nConnection: close\r\n\r\n`;
      const came = await sendRaw(address, sent);
      expect(came, twice).toMatch(/^HTTP\/1.1 (200|304)/);
      if (came.startsWith('HTTP/1.1 200')) expect(came).toContain(body.toString());
    }
  });
});

it('pipelined requests each get their own response, in order', async () => {
  const { address } = server;
  const get = (query: string) =>
    `GET ${pathOf({ query })} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: identity\r\n\r\n`;
  const names = Array.from({ length: 20 }, (_nothing, nth) => `a${nth % 7}`);
  const queries = names.map(
    (name, nth) => `{ ${name}: ${nth % 3 === 0 ? 'chains { name }' : '__typename'} }`,
  );
  for (let round = 0; round < 2; round++) {
    const sent = queries.map((query, nth) => (nth % 2 === 0 ? postOf(query) : get(query))).join('');
    const came = await sendRaw(address, sent + postOf('{ last: __typename }', 'Connection: close\r\n'));
    const answered = [...came.matchAll(/\{"data":\{"(\w+)"/g)].map(([, name]) => name);
    expect(answered).toEqual([...names, 'last']);
  }
});
