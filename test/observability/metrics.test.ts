/** /metrics shows the state of one gateway from its start: its listings, held-back values and upstream. */
import { expect, it, vi } from 'vitest';
import { METRICS } from '../../src/observability/metric-table.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { tokenRow } from '../fixtures/rows.js';
import { HOUR, stopDate } from '../support/clock.js';
import { status } from '../support/fake-upstream.js';
import { LISTINGS, startGuarded, WRONG } from '../support/guarded-gateway.js';
import { createTestGateway, type TestGateway } from '../support/test-gateway.js';

const SAMPLE = /^([a-z_:][\w:]*(?:\{[a-z_]\w*="[^"]*"(?:,[a-z_]\w*="[^"]*")*\})?) (-?[\d.e+-]+|Nan|\+Inf)$/i;

/** All samples by name and labels. Fails on an invalid line and on a repeated sample. */
function samplesOf(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('# '))) {
    const [, series = '', value] = SAMPLE.exec(line) ?? [];
    expect(series, line).not.toBe('');
    expect(samples.has(series), line).toBe(false);
    samples.set(series, Number(value));
  }
  return samples;
}

async function scrape({ fetch }: TestGateway): Promise<Map<string, number>> {
  const response = await fetch('/metrics');
  expect(response.status).toBe(200);
  return samplesOf(await response.text());
}

function startingWith(samples: Map<string, number>, start: string): Record<string, number> {
  return Object.fromEntries([...samples].filter(([series]) => series.startsWith(start)));
}

it('/metrics is in the exposition format, has help and type for each metric, and is never cached', async () => {
  const { fetch } = await createTestGateway();
  const response = await fetch('/metrics');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const text = await response.text();
  const helped = [...text.matchAll(/^# HELP (\w+) \S/gm)].map(([, name]) => name);
  const typed = [...text.matchAll(/^# TYPE (\w+) (?:counter|gauge|histogram)$/gm)].map(([, name]) => name);
  expect(helped.length).toBeGreaterThan(30);
  expect(helped).toEqual(typed);
  // Without a setting of Redis.
  expect([...samplesOf(text).keys()].join()).not.toContain('redis');
  const ofProcess = (await createMetrics().expose()).text;
  expect(samplesOf(ofProcess).get('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  for (const name of ['nodejs_eventloop_lag_p99_seconds', 'nodejs_gc_duration_seconds'])
    expect(ofProcess).toContain(`# HELP ${name} `);
});

it('/metrics has each metric with the type and the labels that the guide names', async () => {
  const { snapshots } = await createTestGateway({ config: { routesSweepMs: HOUR }, hasListings: true });
  const metrics = createMetrics({ ofProcess: false });
  metrics.watchSnapshots(snapshots);
  metrics.watchCache(() => ({ bytes: 0, entries: 0 }));
  metrics.upstreamRequest('v1', 'chains', 'ok', 1);
  for (const lane of ['listings', 'routes'] as const) metrics.breaker('v1', 'open', lane);
  metrics.refresh('chains', 'held_back', ['shrink']);
  metrics.changedOver('v1', 'value-transfer');
  metrics.connectionCut('pipelining');
  for (const set of [metrics.tokenListOmitted, metrics.stored, metrics.sharing]) set(1);
  metrics.requests.answered('miss', 'OVERLOADED', 1, 1, true);
  const { text } = await metrics.expose();
  const typed = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]);
  const table = Object.entries(METRICS).map(([name, { type }]) => [name, type]);
  expect(typed.toSorted()).toEqual(table.toSorted());
  for (const [name, { labels }] of Object.entries(METRICS)) {
    const samples = text.matchAll(new RegExp(`^${name}(?:_bucket|_sum|_count)?{(.*)} `, 'gm'));
    const names = [...samples].flatMap(([, pairs = '']) =>
      [...pairs.matchAll(/(\w+)="/g)].map(([, label]) => label),
    );
    expect([...new Set(names)].filter((label) => label !== 'le').toSorted(), name).toEqual(labels.toSorted());
  }
});

it('/metrics is made once for many requests at the same time', async () => {
  const gateway = await createTestGateway();
  const read = vi.spyOn(gateway.snapshots, 'status');
  await scrape(gateway);
  const once = read.mock.calls.length;
  await Promise.all(Array.from({ length: 100 }, () => scrape(gateway)));
  expect(read.mock.calls.length).toBeLessThan(5 * once);
});

it('/metrics reports a failure and logs its cause, without other effects', async () => {
  const gateway = await createTestGateway();
  const { fetch, query, logged, snapshots } = gateway;
  const broken = vi.spyOn(snapshots, 'status').mockImplementation(() => {
    throw new Error('secret-reason');
  });
  const response = await fetch('/metrics');
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain('secret-reason');
  const err = { message: 'secret-reason' };
  expect(logged.find(({ level }) => level === 'error')).toMatchObject({ err });
  expect((await query('{ chain(chainKey: "base") { name } }')).data).toEqual({ chain: { name: 'Base' } });
  broken.mockRestore();
  expect((await scrape(gateway)).get('gateway_listing_rows{listing="chains"}')).toBeGreaterThan(0);
});

it('the metrics of waiting show how long operations wait for their turn and for the upstream', async () => {
  const gateway = await createTestGateway();
  const count = async (reason: string) =>
    (await scrape(gateway)).get(`gateway_operation_wait_seconds_count{reason="${reason}"}`);
  expect([await count('turn'), await count('upstream')]).toEqual([0, 0]);
  // Both operations wait for the first listing.
  await Promise.all([gateway.query('{ chains { name } }'), gateway.query('{ chains { chainKey } }')]);
  expect([await count('turn'), await count('upstream')]).toEqual([2, 2]);
  await gateway.query('{ tokens(srcChainKey: "degen", srcToken: "0x1") { name } }');
  expect(await count('turn')).toBe(3);
});

const STATES = ['FRESH', 'STALE', 'EMPTY'];
const stateOf = (listing: string, state: string) =>
  STATES.map((one) => [`gateway_listing_state{listing="${listing}",state="${one}"}`, Number(one === state)]);

it('the metrics of listings show EMPTY, without an age, before the first snapshot', async () => {
  const samples = await scrape(await createTestGateway());
  expect(startingWith(samples, 'gateway_listing_')).toEqual(
    Object.fromEntries(
      ['chains', 'tokens'].flatMap((listing) => [
        ...stateOf(listing, 'EMPTY'),
        ...['rows', 'rejected_rows', 'gone', 'held_back'].map((name) => [
          `gateway_listing_${name}{listing="${listing}"}`,
          0,
        ]),
        [`gateway_listing_source{listing="${listing}",source="v1"}`, 1],
      ]),
    ),
  );
});

it('the metrics of listings show the state, the age and the rows of snapshots, also with the upstream down', async () => {
  const tokens = [tokenRow('a', '0x1'), tokenRow('a', '0x1'), { odd: true }];
  const gateway = await createTestGateway({ hasListings: true, listings: { tokens } });
  const fresh = await scrape(gateway);
  expect(fresh.get('gateway_listing_state{listing="tokens",state="FRESH"}')).toBe(1);
  expect(fresh.get('gateway_listing_age_seconds{listing="tokens"}')).toBeLessThan(30);
  const rows = { '{listing="chains"}': [108, 0], '{listing="tokens"}': [1, 2] };
  for (const [listing, [served, rejected]] of Object.entries(rows)) {
    expect(fresh.get(`gateway_listing_rows${listing}`)).toBe(served);
    expect(fresh.get(`gateway_listing_rejected_rows${listing}`)).toBe(rejected);
  }
  await gateway.upstream.close();
  stopDate().advance(95_000);
  const stale = await scrape(gateway);
  expect(startingWith(stale, 'gateway_listing_state')).toEqual(
    Object.fromEntries([...stateOf('chains', 'FRESH'), ...stateOf('tokens', 'STALE')]),
  );
  const age = stale.get('gateway_listing_age_seconds{listing="tokens"}');
  expect(age).toBeGreaterThanOrEqual(95);
  expect(age).toBeLessThan(125);
  expect(stale.get('gateway_listing_rows{listing="tokens"}')).toBe(1);
});

const FACTS = {
  chains: ['chainId', 'chainType', 'nativeCurrency'],
  tokens: ['decimals', 'symbol', 'address'],
};
const OLDEST = ['chains', 'tokens'].map((name) => [`gateway_held_back_oldest_seconds{listing="${name}"}`, 0]);

it('the metrics of guarded values exist from the start, at 0', async () => {
  const samples = await scrape(await createTestGateway());
  const labels = Object.entries(FACTS).flatMap(([listing, facts]) =>
    facts.map((fact) => `listing="${listing}",fact="${fact}"`),
  );
  const rows = labels.map((each) => [`gateway_held_back_rows{${each}}`, 0]);
  expect(startingWith(samples, 'gateway_held_back_')).toEqual(Object.fromEntries([...rows, ...OLDEST]));
  const accepted = labels.flatMap((each) =>
    ['time', 'operator'].map((by) => [`gateway_accepted_changes_total{${each},by="${by}"}`, 0]),
  );
  expect(startingWith(samples, 'gateway_accepted_changes_total')).toEqual(Object.fromEntries(accepted));
  expect(startingWith(samples, 'gateway_contradictory_rows_total')).toEqual({
    'gateway_contradictory_rows_total{listing="chains"}': 0,
    'gateway_contradictory_rows_total{listing="tokens"}': 0,
  });
});

it('the metrics of guarded values show no age below zero after the clock was set back', async () => {
  const gateway = await startGuarded(LISTINGS);
  await gateway.bring({ tokens: WRONG });
  expect(gateway.heldBackRows()).toEqual([0, 1]);
  gateway.clock.setBack(HOUR);
  const samples = await scrape(gateway);
  expect(startingWith(samples, 'gateway_held_back_oldest')).toEqual(Object.fromEntries(OLDEST));
});

it('the metrics of the upstream count the requests that the gateway sends', async () => {
  // With these settings no failed request is repeated before the counts are read.
  const gateway = await createTestGateway({ config: { upstreamRetries: 0 }, firstPauseMs: 3_600_000 });
  gateway.upstream.plan('tokens', status(404));
  const before = await scrape(gateway);
  expect(before.get('gateway_upstream_breaker_state{upstream="v1",state="closed"}')).toBe(1);
  await gateway.query('{ chains { name } tokens { name } }');
  const samples = await scrape(gateway);
  const [ok, failed] = [
    'upstream="v1",path="chains",outcome="ok"',
    'upstream="v1",path="tokens",outcome="UPSTREAM_STATUS"',
  ];
  expect(startingWith(samples, 'gateway_upstream_requests_total')).toEqual({
    [`gateway_upstream_requests_total{${ok}}`]: 1,
    [`gateway_upstream_requests_total{${failed}}`]: 1,
  });
  expect(samples.get(`gateway_upstream_request_duration_seconds_count{${ok}}`)).toBe(1);
  expect(startingWith(samples, 'gateway_listing_refreshes_total')).toEqual({
    'gateway_listing_refreshes_total{listing="chains",outcome="upstream"}': 1,
    'gateway_listing_refreshes_total{listing="tokens",outcome="UPSTREAM_STATUS"}': 1,
  });
});
