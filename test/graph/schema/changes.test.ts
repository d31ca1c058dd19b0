/** Changes turn any earlier state of a client into the present one, and leave prices and order out. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { json } from '../../support/fake-upstream.js';
import { blockOf } from '../../support/readme.js';
import { createTestGateway, dataOf, type Settings, type TestGateway } from '../../support/test-gateway.js';
import { refreshWith, UNGUARDED } from '../../support/test-server.js';

const CHAINS = [chainRow('a'), chainRow('b')];
const token = (index: number, changes: Parameters<typeof tokenRow>[2] = {}) =>
  tokenRow('a', `0xA${index}`, changes);

interface Changes<Row> {
  readonly cursor: string;
  readonly isReset: boolean;
  readonly changed: readonly Row[];
  readonly removedIds: readonly string[];
}
type Row = { readonly id: string } & Readonly<Record<string, unknown>>;

const CHAIN_FIELDS =
  'id chainKey chainType chainId shortName name nativeCurrency { name symbol decimals address }';
const TOKEN_CHANGES = blockOf('src/graph/README.md', 'TokenChanges');
const CHAIN_CHANGES = `query ($since: String) {
  chainChanges(since: $since) { cursor isReset changed { ${CHAIN_FIELDS} } removedIds }
}`;

type Asked = Pick<TestGateway, 'query'>;
async function changes({ query }: Asked, document: string, since: string | null): Promise<Changes<Row>> {
  const data = await dataOf(query<Record<string, Changes<Row>>>(document, { since }));
  return Object.values(data)[0] as Changes<Row>;
}
const tokenChanges = (gateway: Asked, since: string | null = null) => changes(gateway, TOKEN_CHANGES, since);
const chainChanges = (gateway: Asked, since: string | null = null) => changes(gateway, CHAIN_CHANGES, since);

const serve = (tokens: readonly object[], config: Settings = {}) =>
  createTestGateway({
    listings: { chains: CHAINS, tokens },
    config: { ...UNGUARDED, ...config },
    hasListings: true,
  });

/** A client's copy of the listing, by id, after these changes. */
type Kept = ReadonlyMap<string, Row>;
function applied(kept: Kept, { isReset, changed, removedIds }: Changes<Row>) {
  const next = new Map(isReset ? [] : kept);
  for (const row of changed) next.set(row.id, row);
  for (const id of removedIds) next.delete(id);
  return next;
}

const byId = (rows: Iterable<Row>) => [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));

it('changes of the tokens are all rows at first, then those added, changed or removed; prices and order do not count', async () => {
  const gateway = await serve([token(1), token(2), token(3)]);
  const all = await tokenChanges(gateway);
  expect(all).toMatchObject({ isReset: true, removedIds: [] });
  expect(all.changed.map(({ address }) => address)).toEqual(['0xA1', '0xA2', '0xA3']);
  const none = { cursor: all.cursor, isReset: false, changed: [], removedIds: [] };
  expect(await tokenChanges(gateway, all.cursor)).toEqual(none);
  expect(await tokenChanges(gateway, 'nope')).toEqual(all);
  expect((await chainChanges(gateway, all.cursor)).isReset).toBe(true);
  const repriced = [token(2, { price: { usd: 5 } }), token(1, { price: null }), token(3)];
  await refreshWith(gateway, repriced, CHAINS);
  expect(await tokenChanges(gateway, all.cursor)).toEqual(none);
  await refreshWith(gateway, [token(1), token(2, { name: 'Other' }), token(4)], CHAINS);
  const { cursor, ...changes } = await tokenChanges(gateway, all.cursor);
  expect(cursor).not.toBe(all.cursor);
  expect(changes).toMatchObject({ isReset: false, changed: [{ name: 'Other' }, { address: '0xA4' }] });
  expect(changes.removedIds).toEqual([all.changed[2]?.id]);
  const removed = `{ node(id: "${changes.removedIds[0]}") { id } }`;
  expect(await gateway.query(removed)).toEqual({ data: { node: null } });
});

it('changes of the tokens do not include a listing that is held back', async () => {
  const gateway = await serve([token(1), token(2), token(3)], { holdBackTimes: 3 });
  const { cursor } = await tokenChanges(gateway);
  gateway.upstream.plan('tokens', json({ tokens: [token(1, { decimals: 18 })] }));
  gateway.snapshots.refreshNow();
  await expect.poll(() => gateway.listings().tokens.isHeldBack).toBe(true);
  expect(await tokenChanges(gateway, cursor)).toMatchObject({ cursor, changed: [], removedIds: [] });
});

it('changes of the tokens include those of a changed chain, which decides on isNative and caip19', async () => {
  const address = `0x${'a1'.repeat(20)}`;
  const tokens = [token(1), tokenRow('new', address)];
  const gateway = await serve(tokens);
  const document = `query ($since: String) {
      tokenChanges(since: $since) { cursor isReset changed { id address isNative caip19 } removedIds } }`;
  const first = await changes(gateway, document, null);
  expect(first.changed[1]).toMatchObject({ address, isNative: false, caip19: null });
  const listed = chainRow('new', { chainId: 99 });
  await refreshWith(gateway, tokens, [...CHAINS, listed]);
  const second = await changes(gateway, document, first.cursor);
  const identified = [{ address, isNative: false, caip19: `eip155:99/erc20:${address}` }];
  expect(second).toMatchObject({ isReset: false, changed: identified });
  const nativeCurrency = { chainKey: 'new', name: 'New', symbol: 'NEW', decimals: 6, address };
  await refreshWith(gateway, tokens, [{ ...listed, nativeCurrency }, ...CHAINS]);
  const third = await changes(gateway, document, second.cursor);
  expect(third).toMatchObject({ isReset: false, changed: [{ address, isNative: true, caip19: null }] });
  expect(await changes(gateway, document, third.cursor)).toEqual({ ...third, changed: [] });
});

it('changes of both listings turn any earlier state into the present one', async () => {
  const row = fc.record({
    index: fc.nat(5),
    name: fc.constantFrom('One', 'Other'),
    decimals: fc.constantFrom(6, 18),
    isBridgeable: fc.boolean(),
    price: fc.constantFrom(null, { usd: 1 }, { usd: 2 }),
    upper: fc.boolean(),
  });
  const listing = fc
    .uniqueArray(row, { minLength: 1, selector: ({ index }) => index })
    .map((rows) =>
      rows.map(({ index, upper, ...changes }) =>
        tokenRow(index < 3 ? 'a' : 'b', `0x${upper ? 'F' : 'f'}${index}`, changes),
      ),
    );
  const listedChains = fc
    .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('One', 'Other')), {
      minLength: 1,
      selector: ([key]) => key,
    })
    .map((chains) => chains.map(([key, name]) => chainRow(key, { name })));
  const gateway = await serve([token(1)]);
  const kinds = [tokenChanges, chainChanges].map((ask) => ({ ask, kept: new Map<string, Kept>() }));
  await fc.assert(
    fc.asyncProperty(listing, listedChains, async (tokens, chains) => {
      for (const { ask, kept } of kinds) {
        const before = await ask(gateway);
        kept.set(before.cursor, applied(new Map(), before));
      }
      await refreshWith(gateway, tokens, chains);
      for (const { ask, kept } of kinds) {
        const present = await ask(gateway);
        for (const [since, old] of kept) {
          const changes = await ask(gateway, since);
          expect([changes.isReset, changes.cursor]).toEqual([false, present.cursor]);
          expect(byId(applied(old, changes).values())).toEqual(byId(present.changed));
        }
      }
    }),
    { numRuns: 12, endOnFailure: true },
  );
  for (const { kept } of kinds) expect(kept.size).toBeGreaterThan(1);
});

it('changes of the tokens are remembered up to 256 KiB of keys', async () => {
  const long = (count: number, name: string) =>
    Array.from({ length: count }, (_, index) => tokenRow('a', `${index}-${'x'.repeat(500)}`, { name }));
  const gateway = await serve(long(300, 'One'));
  const first = await tokenChanges(gateway);
  await refreshWith(gateway, long(300, 'Two'), CHAINS);
  const second = await tokenChanges(gateway, first.cursor);
  expect(second).toMatchObject({ isReset: false, changed: { length: 300 } });
  await refreshWith(gateway, long(300, 'Three'), CHAINS);
  expect(await tokenChanges(gateway, second.cursor)).toMatchObject({ isReset: false });
  expect(await tokenChanges(gateway, first.cursor)).toMatchObject({ isReset: true });
});
