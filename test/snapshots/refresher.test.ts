/** An unexpected exception during a refresh counts like any failure. */
import { expect, it } from 'vitest';
import type { Chain } from '../../src/domain/listing.js';
import { codesOf, createTestGateway } from '../support/test-gateway.js';

it.each<[string, (chain: Chain) => unknown]>([
  [
    'fetching',
    () => {
      throw new TypeError('a secret mistake');
    },
  ],
  ['guarding', (chain) => ({ ...chain, nativeCurrency: null })],
  ['indexing', (chain) => ({ ...chain, name: null })],
])('an unexpected exception in %s a listing is a failure with a stack', async (_name, broken) => {
  let isBroken = true;
  const { query, snapshots, logged, metrics } = await createTestGateway({
    decorate: (service) => ({
      ...service,
      async fetch(name) {
        const fetched = await service.fetch(name);
        if (name === 'tokens' || !isBroken) return fetched;
        return { ...fetched, rows: (fetched.rows as readonly Chain[]).map(broken) as never };
      },
    }),
    firstPauseMs: 50,
  });
  const chains = () => snapshots.status(Date.now())[0];
  const answer = await query('{ chains { name } tokens { symbol } }');
  expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
  expect(JSON.stringify(answer.errors)).not.toMatch(/secret|TypeError|Cannot read/);
  expect(chains()).toMatchObject({ state: 'EMPTY', lastFailure: { code: 'UPSTREAM_MALFORMED' } });
  expect(chains().lastFailure?.message).toMatch(/internal error of the gateway/);
  await expect
    .poll(async () => {
      const failed =
        /^gateway_listing_refreshes_total\{listing="chains",outcome="UPSTREAM_MALFORMED"\} (\d+)$/m;
      const stacks = logged.filter(({ err }) => JSON.stringify(err)?.includes('TypeError'));
      return stacks.length - Number(failed.exec((await metrics.expose()).text)?.[1]);
    })
    .toBe(0);
  isBroken = false;
  await expect.poll(() => chains().state).toBe('FRESH');
});
