/** Nothing can change a row that is served: rows of each service and of routes are frozen all the way down. */
import { expect, it } from 'vitest';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { createContexts } from '../graph/executor.js';
import { temporaryFile } from '../support/ends.js';
import { json } from '../support/fake-upstream.js';
import { onDisk, restart, startGuarded } from '../support/guarded-gateway.js';

// The JSON of frozen values is kept and sent again (`kept` in src/execution/plan.ts): all in them must be frozen.

function changeable(value: unknown, path: string, isWithinFrozen = false): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const isFrozen = Object.isFrozen(value);
  const within = Object.entries(Object.getOwnPropertyDescriptors(value)).flatMap(
    ([name, { get, value: inner }]) =>
      get ? [`${path}.${name}`] : changeable(inner, `${path}.${name}`, isWithinFrozen || isFrozen),
  );
  return isWithinFrozen && !isFrozen ? [path, ...within] : within;
}

const address = (digit: number) => `0x${String(digit).repeat(40)}`;
const CHAINS = [chainRow('ethereum'), chainRow('base')];
const TOKENS = [1, 2, 3, 4].map((nth) => ({
  ...tokenRow('ethereum', address(nth), { symbol: `T${nth}` }),
  logoUrl: 'https://pictures.test/a.png',
}));
const CURRENCY = chainRow('base').nativeCurrency as object;
/** Three tokens contradict the earlier ones: by their decimals, their address, and a far higher price. */
const CONTRADICTORY = {
  chains: [
    chainRow('ethereum', { chainId: 8 }),
    chainRow('base', { nativeCurrency: { ...CURRENCY, decimals: 6 } }),
  ],
  tokens: [
    { ...TOKENS[0], decimals: 7 },
    tokenRow('ethereum', address(5), { symbol: 'T2' }),
    { ...TOKENS[2], price: { usd: 100 } },
    TOKENS[3],
  ],
};

type Guarded = Awaited<ReturnType<typeof startGuarded>>;

function expectFrozen({ snapshots }: Pick<Guarded, 'snapshots'>): void {
  const { chains, tokens } = snapshots.current();
  if (!chains || !tokens) throw new Error('Expected both listings');
  for (const rows of [
    chains.rows,
    tokens.rows,
    tokens.byChain('ethereum'),
    chains.changesSince(undefined).changed,
  ])
    expect(changeable(rows, 'rows')).toEqual([]);
  expect([chains.rows, tokens.rows, ...chains.rows, ...tokens.rows].every(Object.isFrozen)).toBe(true);
}

it('rows of the upstream are frozen all the way down, also those that are held back, and those from a disk', async () => {
  const listingRules = temporaryFile(`chains base ethereum\nhide ethereum:${address(4)}\n`);
  const config = { ...onDisk().config, listingRules };
  const gateway = await startGuarded({ chains: CHAINS, tokens: TOKENS }, { config });
  expectFrozen(gateway);
  await gateway.bring(CONTRADICTORY);
  expect(gateway.heldBackRows().every((count) => count > 1)).toBe(true);
  expectFrozen(gateway);
  const again = await restart(gateway, { config: { listingRules: undefined } });
  expect(again.heldBackRows()).toEqual(gateway.heldBackRows());
  expectFrozen(again);
});

it('rows of the value-transfer service, and routes, are frozen all the way down', async () => {
  const listings = { chains: CHAINS.map(successorChain), tokens: TOKENS.map(successorToken) };
  const gateway = await startGuarded(listings, { config: { upstreamProfile: 'value-transfer' } });
  expectFrozen(gateway);
  const routes = [...TOKENS, tokenRow('base', address(9))].map(successorToken);
  gateway.upstream.plan('tokens', json({ tokens: routes }));
  const begin = await createContexts(gateway);
  const { rows } = await begin().loaders.routesFrom({ srcChainKey: 'ethereum', srcToken: address(1) });
  expect(rows).toHaveLength(5);
  expect(changeable(rows, 'routes')).toEqual([]);
});
