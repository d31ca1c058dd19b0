/** Each alert fires and clears in its cases, and stays silent about failures that one client can cause. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFile } from '../support/ends.js';
import { alerts, deployed, RULES } from './files.js';
import { areMissing } from './programs.js';

async function testRules(...tests: readonly object[]): Promise<string> {
  // JSON is valid YAML.
  const file = temporaryFile(JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests }));
  const { stdout } = await promisify(execFile)('promtool', ['test', 'rules', file]);
  return stdout;
}

/** A test that an alert fires at `firing` (or not, if `fires` is false), and not at `quiet` and `cleared`. */
function promtoolTest(alert: string, { series, quiet, firing, cleared }: AlertCase, fires = true) {
  const expectation = (minutes: number, isFiring: boolean) => ({
    expr: `count(ALERTS{alertname="${alert}", alertstate="firing"})`,
    eval_time: `${minutes}m`,
    exp_samples: isFiring ? [{ labels: '{}', value: 1 }] : [],
  });
  return {
    name: alert,
    interval: '1m',
    input_series: Object.entries(series).map(([key, values]) => ({ series: key.replace(',}', '}'), values })),
    promql_expr_test: [expectation(quiet, false), expectation(firing, fires), expectation(cleared, false)],
  };
}

describe.skipIf(areMissing('promtool'))('alerts.yaml', () => {
  it('each alert has a case, a severity and texts', () => {
    expect(Object.keys(ALERT_CASES)).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, labels, annotations } of alerts) {
      expect(['page', 'ticket'], alert).toContain(labels.severity);
      expect(Object.keys(annotations), alert).toEqual(['summary', 'description']);
    }
  });

  // One run of promtool for all cases; its output names an alert that fails.
  it('alerts fire and clear, and are silent about what one client causes and about too little data', async () => {
    const loud = Object.entries(ALERT_CASES).flatMap(([alert, cases]) =>
      [cases].flat().map((alertCase) => promtoolTest(alert, alertCase)),
    );
    const silent = SILENT_CASES.map(([why, alert, alertCase]) => ({
      ...promtoolTest(alert, alertCase, false),
      name: `${alert} if ${why}`,
    }));
    expect(await testRules(...loud, ...silent)).toContain('SUCCESS');
  });

  it('alerts page nobody for refusals that a client can cause, and require a minimum rate for ratios', () => {
    // No client can cause UPSTREAM_GONE.
    const byClients = /OVERLOADED|UPSTREAM_(?!GONE)|RATE_LIMITED|gateway_rate_limited|connections_cut/;
    for (const { alert, expr, labels } of alerts) {
      if (labels.severity === 'page' && byClients.test(expr))
        expect(expr, alert).toMatch(/scope(="process"|!="client")/);
      // A ratio of few events has no meaning, so the alert must also require a minimum rate.
      if (/rate\([^/]*\/|histogram_quantile/.test(expr))
        expect(expr, alert).toMatch(/\band sum by \(.*\) \(rate\(/);
    }
  });

  it('the guide to troubleshooting names each alert, and no other', () => {
    const guide = deployed('troubleshooting.md');
    const named = new Set([...guide.matchAll(/`(Gateway\w+)`/g)].map(([, name]) => name));
    expect([...named].toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });

  it('the alert for guarded values has advice', () => {
    const { annotations } = alerts.find(({ alert }) => alert === 'GatewayRowsHeldBack') ?? {};
    for (const word of ['block explorer', '"accept …"', '"keep …"', 'LISTING_RULES', 'HOLD_BACK_MS'])
      expect(annotations?.description).toContain(word);
  });
});

export interface AlertCase {
  readonly series: Readonly<Record<string, string>>;
  /** Minutes after which the alert does not fire yet, fires, and no longer fires. */
  readonly quiet: number;
  readonly firing: number;
  readonly cleared: number;
}

const GATEWAY = 'job="gateway",instance="a"';

const own = (name: string, labels = '') => `gateway_${name}{${GATEWAY}${labels && `,${labels}`}}`;

const at = (quiet: number, firing: number, cleared: number, series: AlertCase['series']): AlertCase => ({
  series,
  quiet,
  firing,
  cleared,
});

const including = (alertCase: AlertCase, series: AlertCase['series']): AlertCase => ({
  ...alertCase,
  series: { ...alertCase.series, ...series },
});

const forBoth = (caseOf: (labels: string) => AlertCase): readonly AlertCase[] =>
  ['listing="tokens"', 'listing="chains"'].map(caseOf);

/** A gauge that has the bad value from the tenth minute to the thirtieth, and the good value before and after. */
const wrongSeries = (series: string, bad: number, good: number, waits: number): AlertCase =>
  at(waits > 0 ? 9 + waits : 9, 11 + waits, 40, { [series]: `${good}x9 ${bad}x20 ${good}x60` });
const wrong = (name: string, labels: string, bad = 1, good = 0, waits = 5) =>
  wrongSeries(own(name, labels), bad, good, waits);
/** The same for a metric that not only gateways have, such as `up`. */
const wrongProcess = (name: string, bad: number, good: number, waits = 5) =>
  wrongSeries(`${name}{${GATEWAY}}`, bad, good, waits);

/** Counters that grow by `bad` each minute from the tenth minute to the fortieth, and by `good` before and after. */
function rates(series: Readonly<Record<string, readonly [good: number, bad: number]>>, waits = 5): AlertCase {
  const all = Object.entries(series).map(([name, [good, bad]]) => {
    const [from, to] = [good * 9, good * 9 + bad * 31];
    const values = `0+${good}x9 ${from + bad}+${bad}x30 ${to + good}+${good}x60`;
    return [name.replace('{', `{${GATEWAY},`), values];
  });
  return at(9, 17 + waits, 70, Object.fromEntries(all));
}

const requests = (cache: string, outcome: string, scope?: 'client' | 'process') =>
  `gateway_requests_total{cache="${cache}",outcome="${outcome}"${scope ? `,scope="${scope}"` : ''}}`;
const hits = (count: number) => ({ [requests('hit', 'ok')]: [count, count] as const });

/** Requests that are answered within 1 ms. In the bad half hour, a sixth of them takes up to 5 s. */
function slowRequests(cache: string, aMinute = 600): AlertCase {
  const bucket = (le: string) => `gateway_request_duration_seconds_bucket{cache="${cache}",le="${le}"}`;
  const all = [aMinute, aMinute] as const;
  return rates(
    {
      [bucket('0.001')]: [aMinute, (aMinute * 5) / 6],
      [bucket('5')]: all,
      [bucket('+Inf')]: all,
      [`gateway_request_duration_seconds_count{cache="${cache}"}`]: all,
    },
    10,
  );
}

/** The breaker of an upstream that stalls: each probe lasts as long as the timeout, so many samples show it half-open. */
const stallingBreaker = (name: string, labels: string): AlertCase =>
  including(wrong(name, `${labels},state="closed"`, 0, 1, 3), {
    [own(name, `${labels},state="open"`)]: `0x9 ${'1 0 '.repeat(10)}1 0x60`,
    [own(name, `${labels},state="half-open"`)]: `0x9 ${'0 1 '.repeat(10)}0 0x60`,
  });

export const ALERT_CASES: Readonly<Record<string, AlertCase | readonly AlertCase[]>> = {
  GatewayServesDemoData: wrong('listing_source', 'listing="tokens",source="demo"', 1, 0, 0),
  GatewayListingEmpty: wrong('listing_state', 'listing="tokens",state="EMPTY"', 1, 0, 1),
  GatewayListingStale: wrong('listing_state', 'listing="tokens",state="STALE"'),
  GatewayUpstreamGone: [
    ...forBoth((listing) => wrong('listing_gone', listing, 1, 0, 10)),
    // v1 is gone, and its successor fails.
    including(wrong('listing_state', 'listing="tokens",state="STALE"', 1, 0, 10), {
      [own('upstream_requests_total', 'upstream="v1",path="tokens",outcome="UPSTREAM_GONE"')]: '_x9 1+1x90',
    }),
  ],
  GatewayPricesRunOut: wrong('listing_age_seconds', 'listing="tokens"', 2800, 31, 0),
  // This alert fires at once, in the minute of the first bad sample.
  GatewayRowsHeldBack: ['listing="tokens",fact="decimals"', 'listing="chains",fact="chainType"'].map(
    (labels) => ({ ...wrong('held_back_rows', labels, 3, 0, 0), firing: 10 }),
  ),
  GatewayChangeAccepted: [
    ...forBoth((listing) =>
      at(9, 10, 75, {
        [own('accepted_changes_total', `${listing},fact="decimals",by="time"`)]: '0x9 1x100',
        // Changes that the operator has accepted must not fire the alert.
        [own('accepted_changes_total', `${listing},fact="decimals",by="operator"`)]: '0x4 1x105',
      }),
    ),
    // The change is accepted at the first refresh after a restart, before the first scrape. So the counter begins with 1.
    at(9, 12, 80, {
      [own('accepted_changes_total', 'listing="tokens",fact="symbol",by="time"')]: '0x9 _x2 1x100',
    }),
  ],
  GatewayRowsContradict: forBoth((listing) =>
    at(9, 10, 50, { [own('contradictory_rows_total', listing)]: '0x9 2+2x20 42x60' }),
  ),
  // A lost token listing is accepted at the third refresh, 60 s after the first. So one sample may show it.
  GatewayListingHeldBack: forBoth((listing) =>
    at(9, 10, 20, { [own('listing_held_back', listing)]: '0x9 1 0x60' }),
  ),
  GatewayNotStored: wrong('listings_stored', '', 0, 1, 10),
  GatewayFieldsChanged: at(9, 10, 75, {
    [own('upstream_field_drift_total', 'listing="tokens",drift="missing"')]: '0x9 2x100',
  }),
  GatewaySweepStandsStill: [
    at(39, 41, 60, { [own('sweep_stopped')]: '0x9 1x40 0x60' }),
    at(39, 41, 60, {
      [own('sweep_age_seconds')]: '3700x9 7300x40 3700x60',
      [own('sweep_interval_seconds')]: '3600x120',
    }),
    at(29, 31, 60, { [own('sweep_tokens_known')]: '0x50 1x60', [own('sweep_tokens_left')]: '600x110' }),
  ],
  GatewayRowsRejected: including(wrong('listing_rejected_rows', 'listing="tokens"', 40, 3), {
    [own('listing_rows', 'listing="tokens"')]: '587x100',
  }),
  // Gateway b reports the change of service five minutes after the other gateway.
  GatewayServiceChanged: at(69, 72, 135, {
    [own('listing_source', 'listing="tokens",source="v1"')]: '1x70 _x100',
    [own('listing_source', 'listing="tokens",source="value-transfer"')]: '_x70 1x100',
    'gateway_listing_source{job="gateway",instance="b",listing="tokens",source="v1"}': '1x75 _x95',
    'gateway_listing_source{job="gateway",instance="b",listing="tokens",source="value-transfer"}':
      '_x75 1x95',
  }),
  GatewayUpstreamFailing: rates({
    'gateway_upstream_requests_total{upstream="v1",path="tokens",outcome="ok"}': [4, 4],
    'gateway_upstream_requests_total{upstream="v1",path="tokens",outcome="UPSTREAM_TIMEOUT"}': [0, 4],
  }),
  GatewayBreakerOpen: stallingBreaker('upstream_breaker_state', 'upstream="v1"'),
  GatewayRouteBreakerOpen: stallingBreaker('upstream_route_breaker_state', 'upstream="v1",tokens="listed"'),
  GatewayRedisLost: [
    wrong('redis_connected', '', 0, 1),
    at(9, 20, 50, { [own('redis_connected')]: `1x9 ${'0 0 1 '.repeat(7)}1x60` }),
  ],
  GatewayErrors: rates({
    ...hits(900),
    [requests('miss', 'UPSTREAM_TIMEOUT', 'process')]: [3, 60],
    // These requests are not operations, and must not lower the share of errors.
    [requests('none', 'ok')]: [10_000, 10_000],
  }),
  // The series does not exist before the first error.
  GatewayInternalErrors: at(9, 12, 40, {
    [own('requests_total', 'cache="miss",outcome="INTERNAL_SERVER_ERROR"')]: '_x10 1x90',
  }),
  GatewayOverloaded: rates({ ...hits(900), [requests('refused', 'OVERLOADED', 'process')]: [1, 100] }),
  GatewayClientsRefused: rates(
    {
      ...hits(900),
      [requests('refused', 'OVERLOADED', 'client')]: [1, 200],
      [requests('refused', 'RATE_LIMITED', 'client')]: [0, 200],
      [requests('miss', 'UPSTREAM_RATE_LIMITED', 'client')]: [0, 200],
    },
    15,
  ),
  GatewaySlow: slowRequests('miss'),
  GatewayHitsSlow: slowRequests('hit'),
  GatewayConnectionsCut: rates({
    'gateway_http_connections_cut_total{reason="too_many_connections"}': [1, 120],
  }),
  GatewayDown: wrongProcess('up', 0, 1, 2),
  GatewayAllDown: wrongProcess('up', 0, 1, 1),
  GatewayRestarts: at(12, 16, 60, { [`process_start_time_seconds{${GATEWAY}}`]: '100x9 200x2 300x2 400x80' }),
  GatewayMemoryHigh: wrongProcess('process_resident_memory_bytes', 620e6, 160e6),
  GatewayCoreBusy: rates({ 'process_cpu_seconds_total{}': [6, 58] }, 10),
  GatewayBlocked: wrongProcess('nodejs_eventloop_lag_p99_seconds', 0.4, 0.011),
  GatewayFileHandlesRunOut: including(wrongProcess('process_open_fds', 900, 40), {
    [`process_max_fds{${GATEWAY}}`]: '1024x100',
  }),
  GatewayLogLinesLost: rates({ 'gateway_log_lines_dropped_total{}': [0, 3] }, 0),
  GatewayVersionsDiffer: at(59, 70, 120, {
    [own('build_info', 'version="1",revision="a1"')]: '1x100 _x60',
    [own('build_info', 'version="1",revision="b2"')]: '_x100 1x60',
    'gateway_build_info{job="gateway",instance="b",version="1",revision="b2"}': '1x160',
  }),
};

/** Cases in which an alert must not fire: one client causes the data, there is too little data, or a gateway is new. */
export const SILENT_CASES: readonly (readonly [why: string, alert: string, AlertCase])[] = [
  [
    'one client asks for more routes than the upstream may be asked for',
    'GatewayErrors',
    rates({
      ...hits(900),
      [requests('miss', 'UPSTREAM_RATE_LIMITED', 'client')]: [0, 6_000],
      [requests('miss', 'UPSTREAM_STATUS', 'client')]: [0, 6_000],
      [requests('refused', 'RATE_LIMITED', 'client')]: [0, 6_000],
    }),
  ],
  [
    'a load balancer finds at /ready that a gateway is not ready',
    'GatewayErrors',
    rates({ ...hits(900), [requests('none', 'HTTP_5XX')]: [0, 60] }),
  ],
  [
    'one client floods the gateway',
    'GatewayOverloaded',
    rates({ ...hits(900), [requests('refused', 'OVERLOADED', 'client')]: [0, 6_000] }),
  ],
  [
    'four of ten operations fail in a quiet night',
    'GatewayErrors',
    rates({ [requests('hit', 'ok')]: [2, 1.2], [requests('miss', 'INTERNAL_SERVER_ERROR')]: [0, 0.8] }),
  ],
  [
    'one of ten operations is refused in a quiet night',
    'GatewayOverloaded',
    rates({ [requests('hit', 'ok')]: [2, 1.8], [requests('refused', 'OVERLOADED', 'process')]: [0, 0.2] }),
  ],
  [
    'one of three upstream requests fails, at one request in two minutes',
    'GatewayUpstreamFailing',
    rates({
      'gateway_upstream_requests_total{upstream="v1",path="chains",outcome="ok"}': [0.5, 0.33],
      'gateway_upstream_requests_total{upstream="v1",path="chains",outcome="UPSTREAM_TIMEOUT"}': [0, 0.17],
    }),
  ],
  [
    'a few operations are refused in a quiet night',
    'GatewayClientsRefused',
    rates({ ...hits(1), [requests('refused', 'RATE_LIMITED', 'client')]: [0, 1] }, 15),
  ],
  ['a few operations are slow in a quiet night', 'GatewaySlow', slowRequests('miss', 6)],
  ['a few hits are slow in a quiet night', 'GatewayHitsSlow', slowRequests('hit', 6)],
  [
    'a further gateway starts',
    'GatewayServiceChanged',
    at(5, 12, 80, { [own('listing_source', 'listing="tokens",source="v1"')]: '_x10 1x160' }),
  ],
];
