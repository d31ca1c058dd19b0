import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { demoChains, demoTokens } from './fixtures/demo.js';
import { startFakeUpstream, text } from './support/fake-upstream.js';
import { createTestGateway } from './support/test-gateway.js';

describe('a gateway', () => {
  it('stays up with its good snapshots, whatever JSON the upstream sends', async () => {
    const good = { chains: demoChains.slice(0, 3), tokens: demoTokens.slice(0, 3) };
    const rows = fc.array(
      fc.oneof(
        fc.jsonValue(),
        fc.constantFrom(...demoTokens.slice(0, 2)).map((row) => ({ ...row, decimals: '6' })),
      ),
    );
    const bodies = fc.oneof(
      fc.jsonValue(),
      rows.map((tokens) => ({ tokens })),
      rows.map((chains) => ({ chains })),
      fc.jsonValue().map((tokens) => ({ tokens, chains: tokens })),
    );
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const upstream = await startFakeUpstream(good);
        const { query, snapshots } = await createTestGateway({
          upstream,
          config: { chainsFreshMs: 1, tokensFreshMs: 1 },
          firstPauseMs: 1,
        });
        const everything = '{ chains { chainKey chainId } tokens { address decimals } }';
        const before = await query(everything);
        expect(before.errors).toBeUndefined();
        upstream.planBoth(text(JSON.stringify(body)));
        await expect
          .poll(() => snapshots.status(Date.now()).every(({ lastFailure }) => lastFailure), { interval: 2 })
          .toBe(true);
        for (const { lastFailure } of snapshots.status(Date.now())) {
          expect(lastFailure?.code).toBe('UPSTREAM_MALFORMED');
        }
        expect(await query(everything)).toEqual(before);
        snapshots.stop();
        await upstream.close();
      }),
      { numRuns: 20 },
    );
  });
});
