import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { OpenGatewayOptions } from '../../src/library/index.js';
import { AT, open, startAround } from '../support/open-gateway.js';

const QUERY = '{ chain(chainKey: "base") { name } }';
const JSON_TYPE = { 'content-type': 'application/json' };

/** Starts a server whose framework replaces each body by this value. */
async function startHost(
  bodyOf: (request: IncomingMessage) => PropertyDescriptor | Promise<PropertyDescriptor>,
  options: OpenGatewayOptions = {},
) {
  const { handler, lines, fetch } = await open(options);
  const thrown: unknown[] = [];
  const address = await startAround(async (request, response) => {
    try {
      handler(Object.defineProperty(request, 'body', await bodyOf(request)), response);
    } catch (error) {
      thrown.push(error);
      response.destroy();
    }
  });
  const url = `${address}/api/graphql`;
  const ask = async (headers: Record<string, string> = {}, body: BodyInit = '{}') => {
    const init = { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body };
    const response = await globalThis.fetch(url, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { ask, thrown, lines, fetch };
}

function deep(levels: number): unknown {
  return JSON.parse(`{"query":"{ __typename }","variables":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`);
}

function circular(): unknown {
  const body: Record<string, unknown> = { query: QUERY };
  body.variables = { body };
  return body;
}

/** An object of infinite depth: each level is made when it is read. */
function endless(): object {
  return new Proxy(
    {},
    {
      ownKeys: () => ['a'],
      get: (_target, name) => (name === 'a' ? endless() : undefined),
      getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true }),
    },
  );
}

const REFUSED: Readonly<Record<string, () => unknown>> = {
  'nested deeply': () => deep(200_000),
  circular: circular,
  'with a bigint': () => ({ query: QUERY, variables: { a: 1n } }),
  'a symbol': () => Symbol('body'),
  'a function': () => () => QUERY,
  'with a getter that throws': () => ({
    get query() {
      throw new Error('secret of the host');
    },
  }),
  'with a toJSON that throws': () => ({
    toJSON() {
      throw new Error('secret of the host');
    },
  }),
  'with a toJSON that gives nothing': () => ({ toJSON: () => undefined }),
  'a proxy that is revoked': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  'a proxy without an end': endless,
  'a proxy of bytes': () => new Proxy(Buffer.from('{}'), {}),
};

const ACCEPTED: Readonly<Record<string, unknown>> = {
  'an object': { query: QUERY },
  'a text': JSON.stringify({ query: QUERY }),
  'a Buffer': Buffer.from(JSON.stringify({ query: QUERY })),
  'an array of bytes': new TextEncoder().encode(JSON.stringify({ query: QUERY })),
  'one with a toJSON': { toJSON: () => ({ query: QUERY }) },
  'one with members that are left out': { query: QUERY, variables: undefined, other: () => 1 },
};

describe('a body that a framework has parsed', () => {
  it.each(Object.entries(REFUSED))('is refused with 400 if it is %s', async (_name, bodyOf) => {
    const { ask, thrown, lines } = await startHost(() => ({ value: bodyOf() }));
    for (let time = 0; time < 2; time++) {
      const { status, headers, text } = await ask();
      expect([status, headers.get('x-request-id')]).toEqual([400, expect.any(String)]);
      const { errors } = JSON.parse(text) as { errors: { message: string; extensions: { code: string } }[] };
      expect(errors).toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }]);
      expect(errors[0]?.message).toMatch(/^Expected a body that can be written as JSON, got one that /);
    }
    expect(thrown).toEqual([]);
    // The second refusal has its line only in the next second.
    await expect.poll(() => lines.filter((line) => line.includes('"status":400'))).toHaveLength(2);
    expect(lines.join('')).not.toContain('Internal error');
  });

  it.each(Object.entries(ACCEPTED))('is accepted if it is %s', async (_name, body) => {
    const { ask } = await startHost(() => ({ value: body }));
    expect(JSON.parse((await ask()).text)).toEqual({ data: { chain: { name: 'Base' } } });
  });

  it.each<[string, () => unknown]>([
    ['long', () => ({ query: QUERY, variables: { a: 'x'.repeat(2_000_000) } })],
    ['a long list', () => ({ query: QUERY, variables: { a: Array.from({ length: 1_000_000 }, () => 1) } })],
    ['a list without items', () => ({ query: QUERY, variables: { a: new Array(50_000_000) } })],
    ['many bytes', () => Buffer.alloc(2_000_000, ' ')],
  ])('is refused with 413 if it is %s', async (_name, bodyOf) => {
    const { ask, thrown } = await startHost(() => ({ value: bodyOf() }));
    const { status, text } = await ask();
    expect([status, text]).toEqual([413, expect.stringContaining('LIMIT_EXCEEDED')]);
    expect(thrown).toEqual([]);
  });

  it('causes a 500 with advice for the host if it was not passed on', async () => {
    const { ask } = await startHost(async (request) => {
      await buffer(request);
      return { value: undefined };
    });
    const { status, text } = await ask({}, JSON.stringify({ query: QUERY }));
    expect([status, text]).toEqual([500, expect.stringContaining('expected it as request.body')]);
    // The request has no body.
    expect((await ask({}, '')).status).toBe(400);
  });

  it('is not read as null where it has a number that JSON cannot represent', async () => {
    const query = 'query ($f: TokenFilter) { tokenSearch(filter: $f, first: 1) { totalCount } }';
    const answerTo = async (maxPriceUsd: number) => {
      const { ask } = await startHost(() => ({ value: { query, variables: { f: { maxPriceUsd } } } }));
      return JSON.parse((await ask()).text);
    };
    expect(await answerTo(1)).toMatchObject({ data: { tokenSearch: { totalCount: expect.any(Number) } } });
    expect(await answerTo(Number.POSITIVE_INFINITY)).toHaveProperty('errors');
  });

  it('is refused with 400 if it cannot be read', async () => {
    const get = () => {
      throw new Error('secret of the host');
    };
    const { ask, thrown } = await startHost(() => ({ get }));
    expect((await ask()).status).toBe(400);
    expect(thrown).toEqual([]);
  });

  it('can have a Content-Encoding, which the framework has decoded', async () => {
    const { ask } = await startHost(async (request) => ({
      value: JSON.parse(gunzipSync(await buffer(request)).toString()),
    }));
    const { status, text } = await ask(
      { 'content-encoding': 'gzip' },
      gzipSync(JSON.stringify({ query: QUERY })),
    );
    expect([status, text]).toEqual([200, expect.stringContaining('Base')]);
  });
});

it('an unparsed body of any depth gets a response', async () => {
  const { handler, fetch } = await open();
  const address = await startAround(handler);
  const levels = 100_000;
  const value = '['.repeat(levels) + ']'.repeat(levels);
  for (const body of [
    value,
    `{"query":${JSON.stringify(QUERY)},"variables":${value}}`,
    `{"query":${JSON.stringify(QUERY)},"x":${value}}`,
  ]) {
    for (let time = 0; time < 3; time++) {
      const init = { method: 'POST', headers: JSON_TYPE, body };
      const byHandler = await globalThis.fetch(`${address}/api/graphql`, init);
      const byFetch = await fetch(new Request(AT, init));
      expect(byFetch.status).toBe(byHandler.status);
      expect(byFetch.status).toBe(body.includes('"x"') ? 200 : 400);
    }
  }
});
