/** A gateway joins both listings, passes on routes, asks the upstream little, and hides it from clients. */
import { expect, it } from 'vitest';
import { demoChains, demoTokens } from './fixtures/demo.js';
import { chainRow, PLACEHOLDER, USDC } from './fixtures/rows.js';
import { collectUnhandledRejections } from './support/ends.js';
import { type FakeAnswers, json, late, status } from './support/fake-upstream.js';
import { codesOf, createTestGateway } from './support/test-gateway.js';
import { type Asked, startServer } from './support/test-server.js';

const ZERO = '0x0000000000000000000000000000000000000000';

type Chains = { readonly chains: readonly Record<string, unknown>[] | null };
interface Tokens {
  readonly tokens: readonly (Record<string, unknown> & { chain?: { name: string } | null })[] | null;
}

it('the gateway joins each token with its chain, and each chain with its tokens', async () => {
  const { query } = await createTestGateway();
  const { data } = await query<Chains & Tokens>(`{
      tokens { chainKey chain { chainKey name nativeCurrency { symbol } } }
      chains { chainKey tokenCount tokens { address chainKey } }
    }`);
  const byKey = new Map(demoChains.map((chain) => [chain.chainKey, chain]));
  const joined = demoTokens.map(({ chainKey }) => {
    const { name, nativeCurrency } = byKey.get(chainKey) ?? {};
    return { chainKey, chain: { chainKey, name, nativeCurrency: { symbol: nativeCurrency?.symbol } } };
  });
  expect(data?.tokens).toEqual(joined);
  const tokensOf = (key: string) =>
    demoTokens.flatMap(({ address, chainKey }) => (chainKey === key ? [{ address, chainKey }] : []));
  expect(data?.chains).toEqual(
    demoChains.map(({ chainKey }) => {
      const tokens = tokensOf(chainKey);
      return { chainKey, tokenCount: tokens.length, tokens };
    }),
  );
});

it.each([
  ['once for all letter cases, as it was first written', ['0xAbCd', '0xabcd', '0xABCD'], '0xAbCd'],
  ['as the placeholder for the native asset', [ZERO, PLACEHOLDER], PLACEHOLDER],
  ['URL-encoded', ['0x2::sui::SUI&srcChainKey=x y'], '0x2::sui::SUI&srcChainKey=x y'],
])('tokens(srcToken:) sends an unlisted token once, without a chain: %s', async (_how, written, sent) => {
  const { query, upstream } = await createTestGateway({ config: { maxRoutesPerOperation: 1 } });
  const fields = written.map((address, nth) => `a${nth}: tokens(srcToken: "${address}") { symbol }`);
  expect(codesOf(await query(`{ ${fields.join(' ')} }`))).toEqual([]);
  const asked = upstream.seen.map(({ url }) => [...new URL(url, 'http://fake').searchParams]);
  expect(asked).toEqual([[['srcToken', sent]]]);
});

it.each([
  ['an unknown chain', '{ tokens(srcChainKey: "nope") { symbol } }', 1],
  ['an empty chain', '{ tokens(srcChainKey: "") { symbol } }', 1],
  ['an empty token, without asking', '{ tokens(srcChainKey: "ethereum", srcToken: "") { symbol } }', 0],
])('the field tokens returns an empty list for %s', async (_name, text, requests) => {
  const { query, upstream } = await createTestGateway();
  expect(await query(text)).toEqual({ data: { tokens: [] } });
  expect(upstream.count()).toBe(requests);
});

it('chains whose keys are different lone surrogates have different ids', async () => {
  const chains = [chainRow('\ud800'), chainRow('\ud801')];
  const { query } = await createTestGateway({ listings: { chains } });
  const { data } = await query<{ chains: { id: string }[] }>('{ chains { id } }');
  expect(new Set(data?.chains.map(({ id }) => id)).size).toBe(2);
});

const EVERYTHING = `{
    chains { chainKey tokenCount tokens { symbol } }
    evm: chains(chainTypes: ["evm"]) { name }
    tokens { symbol chain { name } }
    ethereum: tokens(srcChainKey: "ethereum") { symbol chain { name tokens { symbol } } }
    base: tokens(srcChainKey: "base") { symbol isNative chain { name } }
    chain(chainKey: "base") { tokens { symbol } }
    token(chainKey: "ethereum", address: "${USDC}") { chain { tokenCount } }
    _entities(representations: [{ __typename: "Chain", chainKey: "base" }, { __typename: "Token", chainKey: "ethereum", address: "${USDC}" }]) { __typename }
    listings { state }
  }`;

it('the upstream requests are two for 50 operations at a cold start, and none with snapshots', async () => {
  const [chains, tokens] = [late(60, json({ chains: demoChains })), late(30, json({ tokens: demoTokens }))];
  const { query, upstream } = await createTestGateway({ listings: { chains, tokens } });
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => query<Record<string, { chain: unknown }[]>>(EVERYTHING)),
  );
  answers.push(await query(EVERYTHING));
  expect(upstream.seen.map(({ path }) => path).sort()).toEqual(['chains', 'tokens']);
  for (const { data, errors } of answers) {
    expect(errors).toBeUndefined();
    expect(data?.tokens).toHaveLength(demoTokens.length);
    expect(data?.ethereum?.[0]?.chain).toMatchObject({ name: 'Ethereum' });
  }
});

it('the gateway hides the upstream from clients, and logs its address and response', async () => {
  const { query, logged, fetch, upstream } = await createTestGateway({
    config: { upstreamRetries: 0, upstreamHeaders: { 'x-api-key': 'secret-key' } },
    listings: { chains: status(500, { 'x-secret': 'secret-header' }, 'secret-body') },
  });
  const answer = await query('{ chains { name } listings { source lastFailure { code message } } }');
  expect(codesOf(answer)).toEqual(['UPSTREAM_STATUS']);
  const ready = await (await fetch('/ready')).text();
  for (const shown of [JSON.stringify(answer), ready]) {
    expect(shown).not.toMatch(/secret|127\.0\.0\.1|localhost/);
  }
  expect(JSON.stringify(logged)).toContain(`${upstream.url}/chains: HTTP 500 secret-body`);
  expect(JSON.stringify(logged)).not.toContain('secret-key');
});

const base = { __typename: 'Chain', chainKey: 'base' };
const usdc = { __typename: 'Token', chainKey: 'base', address: USDC };
const entities = (...r: readonly object[]) => ({
  query: 'query ($r: [_Any!]!) { _entities(representations: $r) { __typename } }',
  variables: { r },
});
it.each<[string, { maxRows?: number; maxCost?: number }, FakeAnswers, Asked]>([
  [
    'proves too large when the first listing arrives',
    { maxRows: 5 },
    { tokens: late(50, json({ tokens: demoTokens })) },
    { query: '{ tokens { name } }' },
  ],
  [
    'is refused while some of its entities wait for a listing that fails',
    {},
    { chains: late(50, status(500)) },
    entities(base, ...Array<object>(600).fill({})),
  ],
  [
    'exceeds its cost when it first reads a second listing that fails',
    { maxCost: 1_200 },
    { chains: status(500), tokens: status(500) },
    entities(...Array<object>(500).fill(base), usdc),
  ],
])('the gateway survives an operation that %s', async (_which, config, listings, asked) => {
  const unhandled = collectUnhandledRejections();
  const { ask } = await startServer({ config: { upstreamRetries: 0, ...config }, listings });
  const { body } = await ask(asked);
  expect(codesOf(JSON.parse(body.toString()))).toEqual(['LIMIT_EXCEEDED']);
  expect(await unhandled()).toEqual([]);
});
