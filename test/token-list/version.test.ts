/** The version of the token list changes as the package of its schema asks. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { json, status } from '../support/fake-upstream.js';
import { createTestGateway, refresh } from '../support/test-gateway.js';
import { refreshWith, UNGUARDED } from '../support/test-server.js';
import { listOf, nextVersionByPackage, type TokenList, type Version } from '../support/token-lists.js';

const address = (index: number) => `0x${'aB'.repeat(19)}0${index}`;
/** A token that is in every listing, so that the list is never empty. */
const ANCHOR = tokenRow('a', address(0));

/** One change for each part of the version: a token is added, changed, removed. */
const EXAMPLES: [{ tokens: (typeof ANCHOR)[] }][] = [
  [{ tokens: [ANCHOR, tokenRow('a', address(1))] }],
  [{ tokens: [ANCHOR, tokenRow('a', address(1), { name: 'Other' })] }],
  [{ tokens: [ANCHOR] }],
];

const token = fc
  .record({
    chainKey: fc.constantFrom('a', 'b', 'solana'),
    address: fc
      .nat(4)
      .chain((index) => fc.constantFrom(address(index + 1), address(index + 1).toLowerCase())),
    // The schema refuses some of these: the symbol that is too long, and the one with a space.
    symbol: fc.constantFrom('USDC', 'USDT', '', 'A B', 'x'.repeat(21)),
    name: fc.constantFrom('USD Coin', 'Ümlaut', '', 'a\u00a0b'),
    decimals: fc.constantFrom(6, 18),
    price: fc.constantFrom(null, { usd: 1 }),
    isBridgeable: fc.boolean(),
    logoUrl: fc.constantFrom(undefined, 'https://example.org/a.png', 'https://example.org/b c'),
  })
  .map(({ logoUrl, ...row }) => (logoUrl === undefined ? row : { ...row, logoUrl }));
const tokens = fc
  .uniqueArray(token, { maxLength: 6, selector: (row) => `${row.chainKey} ${row.address.toLowerCase()}` })
  .map((rows) => [ANCHOR, ...rows]);
/** The chains. The chainId and the type of one chain change. */
const chains = fc
  .record({ chainId: fc.constantFrom(8, 9), type: fc.constantFrom('evm', 'tron') })
  .map(({ chainId, type }) => [
    chainRow('a'),
    chainRow('b', { chainId, chainType: type }),
    chainRow('solana', { chainType: 'solana', chainId: 1 }),
  ]);

/**
 * The version by the package. The package does not notice removed pictures, for which its schema asks for a new
 * patch.
 */
async function expectedVersion(before: TokenList, after: TokenList): Promise<Version> {
  const version = await nextVersionByPackage(before, after.tokens);
  const isSame = JSON.stringify(before.tokens) === JSON.stringify(after.tokens);
  const isUnseen = JSON.stringify(version) === JSON.stringify(before.version) && !isSame;
  return isUnseen ? { ...version, patch: version.patch + 1 } : version;
}

it('the version of the token list is the one that the package of the schema gives, for any listings in turn', async () => {
  const gateway = await createTestGateway({
    listings: { chains: [chainRow('a')], tokens: [ANCHOR] },
    config: UNGUARDED,
    hasListings: true,
  });
  let served = { tokens: [ANCHOR] as readonly object[], chains: [chainRow('a')] as readonly object[] };
  let before = await listOf(gateway);
  const parts = new Set<string>();
  const change = fc.oneof(
    { weight: 3, arbitrary: fc.record({ tokens }) },
    { weight: 1, arbitrary: fc.record({ chains }) },
  );
  await fc.assert(
    fc.asyncProperty(change, async (changed) => {
      served = { ...served, ...changed };
      await refreshWith(gateway, served.tokens, served.chains);
      // The tokens of a refresh may be indexed before its changed chains, so refresh once more.
      if ('chains' in changed) await refreshWith(gateway, served.tokens, served.chains);
      const after = await listOf(gateway);
      expect(after.version).toEqual(await expectedVersion(before, after));
      if ('tokens' in changed) {
        const isNew = JSON.stringify(after.version) !== JSON.stringify(before.version);
        const { takenAt } = gateway.snapshots.status(Date.now())[1];
        expect(Date.parse(after.timestamp)).toBe(isNew ? takenAt : Date.parse(before.timestamp));
      }
      for (const part of ['major', 'minor', 'patch'] as const) {
        if (after.version[part] > before.version[part]) parts.add(part);
      }
      before = after;
    }),
    { numRuns: 30, endOnFailure: true, examples: EXAMPLES },
  );
  expect([...parts].sort()).toEqual(['major', 'minor', 'patch']);
});

it('the token list has the chainId of the chain listing, also while the token listing cannot be refreshed', async () => {
  const listings = { chains: [chainRow('a')], tokens: [ANCHOR] };
  const config = { ...UNGUARDED, upstreamRetries: 0 };
  const gateway = await createTestGateway({ hasListings: true, listings, config });
  expect((await listOf(gateway)).tokens).toMatchObject([{ chainId: 7 }]);
  gateway.upstream.plan('tokens', status(404));
  gateway.upstream.plan('chains', json({ chains: [chainRow('a', { chainId: 8 })] }));
  await refresh(gateway);
  await expect.poll(async () => (await listOf(gateway)).tokens).toMatchObject([{ chainId: 8 }]);
  expect((await listOf(gateway)).version).toEqual({ major: 2, minor: 0, patch: 0 });
});
