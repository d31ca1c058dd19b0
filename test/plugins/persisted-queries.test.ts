/** A persisted query is sent once and then executed by its hash, in bounded memory. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/test-gateway.js';

const QUERY = 'query Chain($key: String!) { chain(chainKey: $key) { name } }';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const byHash = (sha256Hash: unknown, version: unknown = 1) => ({ persistedQuery: { version, sha256Hash } });

function ask({ fetch }: TestGateway, hash: unknown, query?: string, version?: unknown): Promise<Response> {
  const parameters = new URLSearchParams({
    variables: '{"key":"base"}',
    extensions: JSON.stringify(byHash(hash, version)),
  });
  if (query !== undefined) parameters.set('query', query);
  return fetch(`/graphql?${parameters}`);
}

it('a persisted query must be sent once, and is then executed by its hash, also by POST', async () => {
  const gateway = await createTestGateway();
  const unknown = await ask(gateway, sha256(QUERY));
  expect(unknown.status).toBe(200);
  expect(await unknown.json()).toMatchObject({
    errors: [{ message: 'PersistedQueryNotFound', extensions: { code: 'PERSISTED_QUERY_NOT_FOUND' } }],
  });
  for (const query of [QUERY, undefined]) {
    const answer = await ask(gateway, sha256(QUERY), query);
    expect(await answer.json()).toEqual({ data: { chain: { name: 'Base' } } });
  }
  const posted = await gateway.post({ variables: { key: 'sei' }, extensions: byHash(sha256(QUERY)) });
  expect(await posted.json()).toEqual({ data: { chain: { name: 'SEI' } } });
});

it('a persisted query stays stored while others send long texts that are no documents', async () => {
  const gateway = await createTestGateway();
  await ask(gateway, sha256(QUERY), QUERY);
  for (const letter of 'abc') {
    const query = letter.repeat(900_000);
    await gateway.post({ query, extensions: byHash(sha256(query)) });
  }
  expect(await (await ask(gateway, sha256(QUERY))).json()).toEqual({ data: { chain: { name: 'Base' } } });
});

it.each([
  ['no hash', 5, 1],
  ['another version', sha256(QUERY), 2],
  ['a hash of another form', 'ABC', 1],
])('a persisted query with %s is an ordinary query', async (_name, hash, version) => {
  const gateway = await createTestGateway();
  expect(await (await ask(gateway, hash, QUERY, version)).json()).toEqual({
    data: { chain: { name: 'Base' } },
  });
  const unasked = await ask(gateway, hash, undefined, version);
  expect(await unasked.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
});

it('persisted queries are stored in bounded memory: clients send evicted ones again', async () => {
  const gateway = await createTestGateway();
  const long = (nth: number) => `# ${'x'.repeat(90_000)}${nth}\n${QUERY}`;
  for (let nth = 0; nth < 30; nth++) {
    const asked = { query: long(nth), variables: { key: 'base' }, extensions: byHash(sha256(long(nth))) };
    expect((await gateway.post(asked)).status).toBe(200);
  }
  expect(await (await ask(gateway, sha256(long(29)))).json()).toHaveProperty('data');
  expect(await (await ask(gateway, sha256(long(0)))).json()).toHaveProperty('errors');
});
