/** The operations that wait for the upstream keep bounded memory, and those of one client only a part of it. */
import { expect, it } from 'vitest';
import { TOOLS } from '../../src/mcp/tools.js';
import { json } from '../support/fake-upstream.js';
import { type Answered, codesOf, createTestGateway } from '../support/test-gateway.js';
import { startServer } from '../support/test-server.js';

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const ROUTES_OF_BASE =
  'destinations(srcChainKey: "base", srcToken: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913") { chainKey }';
const ROUTES = `destinations(srcChainKey: "ethereum", srcToken: "${USDC}") { chainKey }`;
/** 30 lists: an operation with them keeps about 3.5 MB in objects of graphql-js. */
const LISTS = Array.from({ length: 30 }, (_nothing, nth) => `a${nth}: tokens { decimals }`).join(' ');
/** 480 errors, which take about 1.7 MB with their document. */
const ERRORS = `_entities(representations: [${'{} '.repeat(480)}]) { __typename }`;

it.each([
  ['found many rows', LISTS, 12, 3],
  ['made many errors', ERRORS, 20, 5],
])('operations that have %s do not wait by the dozen; small ones do', async (_what, kept, count, most) => {
  const { post, upstream } = await createTestGateway({ hasListings: true });
  const release = upstream.hold('routes', json({ tokens: [] }));
  const codes: (string | undefined)[] = [];
  const ask = async (fields: string, client: string, routes = ROUTES) => {
    const response = await post({ query: `{ ${fields} ${routes} }` }, {}, client);
    const answer = (await response.json()) as Answered<unknown>;
    codes.push(...codesOf(answer));
    return answer;
  };
  const overloads = () => codes.filter((code) => code === 'OVERLOADED').length;
  const large = Array.from({ length: count }, () => ask(kept, 'greedy'));
  await expect.poll(overloads).toBe(count - most);
  expect(codesOf(await ask(kept, 'greedy', ROUTES_OF_BASE))).toContain('OVERLOADED');
  expect(upstream.routesAsked()).toHaveLength(1);
  const others = [ask('__typename', 'greedy'), ask(kept, 'other')];
  release();
  await Promise.all([...large, ...others]);
  expect(overloads()).toBe(count - most + 1);
  expect(upstream.routesAsked()).toHaveLength(1);
  expect(codesOf(await ask(kept, 'greedy'))).not.toContain('OVERLOADED');
});

it('an operation of usual size waits, however much the operations of other clients keep', async () => {
  const { post, upstream } = await createTestGateway({ hasListings: true });
  const release = upstream.hold('routes', json({ tokens: [] }));
  const ask = async (query: string, variables: object, client: string) =>
    codesOf((await (await post({ query, variables }, {}, client)).json()) as Answered<unknown>);
  let refused = 0;
  const large = Array.from({ length: 20 }, async (_nothing, nth) => {
    const codes = await ask(`{ ${LISTS} ${ROUTES} }`, {}, `greedy ${nth % 5}`);
    refused += codes.length;
  });
  await expect.poll(() => refused).toBeGreaterThanOrEqual(10);
  const { document = '' } = TOOLS.find(({ name }) => name === 'get_destinations') ?? {};
  const usual = ask(document, { srcChainKey: 'ethereum', srcToken: USDC }, 'other');
  // Enough time for a refusal.
  const more = `{ ${LISTS} ${ROUTES_OF_BASE} }`;
  expect(await ask(more, {}, 'third')).toEqual(['OVERLOADED']);
  release();
  expect(await usual).toEqual([]);
  await Promise.all(large);
});

it('requests with many values do not wait for the first listing by the dozen', async () => {
  const { ask, upstream } = await startServer({ config: { upstreamRetries: 0 } });
  const held: (() => void)[] = [];
  upstream.plan('chains', (...exchange) => held.push(() => json({ chains: [] })(...exchange)));
  const codes: string[] = [];
  const values = `[${'{},'.repeat(24_000)}{}]`;
  const large = Array.from({ length: 12 }, async (_nothing, nth) => {
    const query = `query Q${nth} { chain(chainKey: \\"ethereum\\") { name } }`;
    const { body } = await ask({ body: `{"query":"${query}","ignored":${values}}` });
    codes.push(...codesOf(JSON.parse(body.toString()) as Answered<unknown>).map(String));
  });
  await expect.poll(() => codes.length).toBe(10);
  expect(codes).toEqual(Array(10).fill('OVERLOADED'));
  for (const release of held) release();
  await Promise.all(large);
});
