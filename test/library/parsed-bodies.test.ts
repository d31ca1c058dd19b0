/** A body that a framework has already parsed is accepted or refused like one that the gateway parses. */
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { open, startAround } from '../support/open-gateway.js';

const QUERY = '{ chain(chainKey: "base") { name } }';
const FORM = { query: 'query ($k: String!) { chain(chainKey: $k) { name } }', variables: '{"k":"base"}' };
const JSON_TYPE = { 'content-type': 'application/json' };

async function startHost(
  bodyOf: (request: IncomingMessage) => PropertyDescriptor | Promise<PropertyDescriptor>,
) {
  const { handler, lines } = await open();
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
  return { ask, thrown, lines };
}

const NESTED = `{"query":"{ __typename }","variables":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_001)}`;
const circular: Record<string, unknown> = { query: QUERY };
circular.variables = { circular };
const fail = () => {
  throw new Error('secret of the host');
};

const REFUSED: Readonly<Record<string, () => PropertyDescriptor>> = {
  'nested deeply': () => ({ value: JSON.parse(NESTED) }),
  circular: () => ({ value: circular }),
  'with a bigint': () => ({ value: { query: QUERY, variables: { a: 1n } } }),
  'a function': () => ({ value: () => QUERY }),
  'with a toJSON that throws': () => ({ value: { toJSON: fail } }),
  unreadable: () => ({ get: fail }),
};

const ACCEPTED: Readonly<Record<string, unknown>> = {
  'an object': { query: QUERY },
  'a text': JSON.stringify({ query: QUERY }),
  'a Buffer': Buffer.from(JSON.stringify({ query: QUERY })),
  'an array of bytes': new TextEncoder().encode(JSON.stringify({ query: QUERY })),
  'an object with members that JSON leaves out': { query: QUERY, variables: undefined, other: () => 1 },
};

it.each(Object.entries(REFUSED))('a parsed body is refused with 400 if it is %s', async (_name, bodyOf) => {
  const { ask, thrown, lines } = await startHost(bodyOf);
  for (let time = 0; time < 2; time++) {
    const { status, headers, text } = await ask();
    expect([status, headers.get('x-request-id')]).toEqual([400, expect.any(String)]);
    const { errors } = JSON.parse(text) as { errors: { message: string; extensions: { code: string } }[] };
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_REQUEST' } }]);
    expect(errors[0]?.message).toMatch(/^Expected a body that can be written as JSON, got one that /);
  }
  expect(thrown).toEqual([]);
  // The log has at most one line a second about refusals with one code, so the second line comes later.
  await expect.poll(() => lines.filter((line) => line.includes('"status":400'))).toHaveLength(2);
  expect(lines.join('')).not.toContain('Internal error');
});

it.each(Object.entries(ACCEPTED))('a parsed body is accepted if it is %s', async (_name, body) => {
  const { ask } = await startHost(() => ({ value: body }));
  expect(JSON.parse((await ask()).text)).toEqual({ data: { chain: { name: 'Base' } } });
});

it.each([
  ['an unread body is read although the framework has set an empty object, as Express 4 does', {}, 'graphql'],
  ['a parsed form is accepted like one that the gateway parses', FORM, 'x-www-form-urlencoded'],
])('%s', async (_what, value, type) => {
  const { ask } = await startHost(() => ({ value }));
  const { text } = await ask({ 'content-type': `application/${type}` }, QUERY);
  expect(JSON.parse(text)).toEqual({ data: { chain: { name: 'Base' } } });
});

it.each<[string, unknown]>([
  ['long', { query: QUERY, variables: { a: 'x'.repeat(2_000_000) } }],
  ['many bytes', Buffer.alloc(2_000_000, ' ')],
])('a parsed body is refused with 413 if it is %s', async (_name, value) => {
  const { ask } = await startHost(() => ({ value }));
  const { status, text } = await ask();
  expect([status, text]).toEqual([413, expect.stringContaining('LIMIT_EXCEEDED')]);
});

it('a parsed body causes a 500 with advice for the host if it was not passed on', async () => {
  const { ask } = await startHost(async (request) => {
    await buffer(request);
    return { value: undefined };
  });
  const { status, text } = await ask({}, JSON.stringify({ query: QUERY }));
  expect([status, text]).toEqual([500, expect.stringContaining('expected it as request.body')]);
  expect((await ask({}, '')).status).toBe(400);
});

it('a number in a parsed body that JSON cannot represent is not read as null', async () => {
  const query = 'query ($f: TokenFilter) { tokenSearch(filter: $f, first: 1) { totalCount } }';
  const f = { maxPriceUsd: 1 };
  const { ask } = await startHost(() => ({ value: { query, variables: { f } } }));
  expect(JSON.parse((await ask()).text)).toHaveProperty('data.tokenSearch.totalCount');
  f.maxPriceUsd = Number.POSITIVE_INFINITY;
  expect(JSON.parse((await ask()).text)).toHaveProperty('errors');
});

it('a parsed body can have a Content-Encoding, which the framework has decoded', async () => {
  const { ask } = await startHost(async (request) => ({
    value: JSON.parse(gunzipSync(await buffer(request)).toString()),
  }));
  const { text } = await ask({ 'content-encoding': 'gzip' }, gzipSync(JSON.stringify({ query: QUERY })));
  expect(text).toContain('Base');
});

it.each<[string, (request: IncomingMessage) => void]>([
  ['decoded it as text', (request) => void request.setEncoding('utf8')],
  ['paused it', (request) => void request.pause()],
])('an unparsed body in parts is read if the framework has %s', async (_what, prepare) => {
  const { handler } = await open();
  const address = await startAround((request, response) => {
    prepare(request);
    handler(request, response);
  });
  const text = JSON.stringify({ query: '{ tokenSearch(query: "usd₮0") { totalCount } }' });
  const parts = Buffer.from(text);
  // The first part ends inside a character.
  const middle = parts.indexOf('₮') + 1;
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(parts.subarray(0, middle));
      await setTimeout(20);
      controller.enqueue(parts.subarray(middle));
      controller.close();
    },
  });
  const init = { method: 'POST', headers: JSON_TYPE, body, duplex: 'half' as const };
  const answer = await (await globalThis.fetch(`${address}/api/graphql`, init)).json();
  const whole = { method: 'POST', headers: JSON_TYPE, body: text };
  expect(answer).toEqual(await (await globalThis.fetch(`${address}/api/graphql`, whole)).json());
  expect(answer).toHaveProperty('data.tokenSearch.totalCount', expect.any(Number));
});
