import { expect, it } from 'vitest';
import type { Chain, Fetched } from '../../src/domain/listing.js';
import { codesOf, createTestGateway } from '../support/test-gateway.js';

type Break = (fetched: Fetched<Chain>) => Fetched<Chain>;

/** Only the code that guards the rows throws. */
const guarding: Break = (fetched) => ({
  ...fetched,
  rows: fetched.rows.map((row) =>
    Object.defineProperty({ ...row }, 'chainId', {
      get() {
        if (new Error().stack?.includes('guard')) throw new TypeError('a secret mistake');
        return 1;
      },
    }),
  ),
});

it.each<[string, Break]>([
  [
    'fetching',
    () => {
      throw new TypeError('a secret mistake');
    },
  ],
  ['indexing', (fetched) => ({ ...fetched, rows: [null as unknown as Chain] })],
  ['guarding', guarding],
])(
  'an unexpected exception in %s a listing is handled like all failures, and logged once with its stack',
  async (_name, breakIt) => {
    let isBroken = true;
    const { query, snapshots, logged, metrics } = await createTestGateway({
      decorate: (service) => ({
        ...service,
        async fetch(name) {
          const fetched = await service.fetch(name);
          return (name === 'chains' && isBroken ? breakIt(fetched as never) : fetched) as typeof fetched;
        },
      }),
      firstPauseMs: 50,
      config: { chainsFreshMs: 3_600_000 },
    });
    const chains = () => snapshots.status(Date.now())[0];
    const answer = await query('{ chains { name } tokens { symbol } }');
    expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
    expect(JSON.stringify(answer.errors)).not.toMatch(/secret|TypeError/);
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
    // It is retried after growing pauses.
    const pauses = () =>
      logged.flatMap(({ listing, retryInMs }) => (listing === 'chains' && retryInMs) || []);
    await expect.poll(() => pauses().length).toBeGreaterThan(2);
    const [first, , third] = pauses();
    expect(Number(third)).toBeGreaterThan(Number(first));
    isBroken = false;
    await expect.poll(() => chains().state).toBe('FRESH');
    // The last good snapshot stays.
    const before = await query('{ chains { name } }');
    const { at = 0 } = chains().lastFailure ?? {};
    isBroken = true;
    snapshots.refreshNow();
    await expect.poll(() => chains().lastFailure?.at).toBeGreaterThan(at);
    expect(await query('{ chains { name } }')).toEqual(before);
  },
);
