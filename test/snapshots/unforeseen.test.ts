import { describe, expect, it } from 'vitest';
import type { Chain, Fetched, Service } from '../../src/domain/listing.js';
import { codesOf, createTestGateway } from '../support/test-gateway.js';

/** A service whose rows make the code that reads them throw, for as long as a test wants. */
function breaking(isBroken: () => boolean, broken: (taken: Fetched<Chain>) => Fetched<Chain>) {
  return (service: Service): Service => ({
    source: service.source,
    routes: (filter) => service.routes(filter),
    async fetch(name) {
      const taken = await service.fetch(name);
      return name === 'chains' && isBroken() ? (broken(taken as Fetched<Chain>) as typeof taken) : taken;
    },
  });
}

const MISTAKES: [string, (taken: Fetched<Chain>) => Fetched<Chain>][] = [
  [
    'reading it',
    () => {
      throw new TypeError('a secret mistake');
    },
  ],
  ['indexing it', (taken) => ({ ...taken, rows: [null as unknown as Chain] })],
];

describe.each(MISTAKES)('an unexpected exception in %s', (_name, broken) => {
  it('is reported, answered and retried like all failures, and logged once with its stack', async () => {
    let isBroken = true;
    const { query, snapshots, logged, metrics } = await createTestGateway({
      decorate: breaking(() => isBroken, broken),
      firstPauseMs: 50,
      config: { chainsFreshMs: 3_600_000 },
    });
    const answer = await query('{ chains { name } tokens { symbol } }');
    expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
    expect(JSON.stringify(answer.errors)).not.toMatch(/secret|TypeError/);
    const [chains] = snapshots.status(Date.now());
    expect(chains).toMatchObject({ state: 'EMPTY', lastFailure: { code: 'UPSTREAM_MALFORMED' } });
    expect(chains.lastFailure?.message).toMatch(/internal error of the gateway/);
    await expect
      .poll(async () => {
        const { text } = await metrics.expose();
        const failed =
          /^gateway_listing_refreshes_total\{listing="chains",outcome="UPSTREAM_MALFORMED"\} (\d+)$/m;
        const stacks = logged.filter(({ err }) => JSON.stringify(err)?.includes('TypeError'));
        return stacks.length - Number(failed.exec(text)?.[1]);
      })
      .toBe(0);
    // The pauses grow: in the time of a few it is not asked again and again.
    const retries = () =>
      logged.filter(({ listing, retryInMs }) => listing === 'chains' && retryInMs !== undefined);
    await expect.poll(() => retries().length).toBeGreaterThan(2);
    const [first, , third] = retries();
    expect(Number(third?.retryInMs)).toBeGreaterThan(Number(first?.retryInMs));
    isBroken = false;
    await expect.poll(() => snapshots.status(Date.now())[0].state).toBe('FRESH');
  });
});

/** Only the code that guards the rows throws. */
function mistaken(taken: Fetched<Chain>): Fetched<Chain> {
  const rows = taken.rows.map((row) =>
    Object.defineProperty({ ...row, nativeCurrency: { ...row.nativeCurrency } }, 'chainId', {
      get() {
        if (new Error().stack?.includes('guard')) throw new TypeError('a secret mistake');
        return 1;
      },
    }),
  );
  return { ...taken, rows };
}

it.each([...MISTAKES, ['guarding it', mistaken] as const])(
  'after an unexpected exception in %s the last good snapshot stays, and the exception is reported',
  async (_name, broken) => {
    let isBroken = false;
    const { query, snapshots } = await createTestGateway({ decorate: breaking(() => isBroken, broken) });
    const before = await query('{ chains { name } }');
    isBroken = true;
    snapshots.refreshNow();
    await expect.poll(() => snapshots.status(Date.now())[0].lastFailure?.code).toBe('UPSTREAM_MALFORMED');
    expect(await query('{ chains { name } }')).toEqual(before);
  },
);
