/** When an alert must fire, and when it must stop. Series are in the notation of promtool, one value a minute. */
export interface AlertCase {
  /** The series with their values. */
  readonly series: Readonly<Record<string, string>>;
  /** Minutes after which the alert does not fire yet, fires, and no longer fires. */
  readonly quiet: number;
  readonly firing: number;
  readonly cleared: number;
}

const GATEWAY = 'job="gateway",instance="a"';

/** The case for both listings. */
const forBoth = (caseOf: (listing: string) => AlertCase): readonly AlertCase[] =>
  ['tokens', 'chains'].map(caseOf);

/** A gauge that has the bad value from the tenth minute to the thirtieth, and the good value before and after. */
const wrong = (series: string, bad = 1, good = 0, waits = 5): AlertCase => ({
  series: { [series]: `${good}x9 ${bad}x20 ${good}x60` },
  quiet: waits > 0 ? 10 + waits - 1 : 9,
  firing: 10 + waits + 1,
  cleared: 40,
});

/** Counters that grow by `bad` each minute from the tenth minute to the fortieth, and by `good` before and after. */
function rates(
  series: Readonly<Record<string, readonly [good: number, bad: number]>>,
  { waits = 5, labels = GATEWAY }: { waits?: number; labels?: string } = {},
): AlertCase {
  return {
    series: Object.fromEntries(
      Object.entries(series).map(([name, [good, bad]]) => {
        const [from, to] = [good * 9, good * 9 + bad * 31];
        const values = `0+${good}x9 ${from + bad}+${bad}x30 ${to + good}+${good}x60`;
        return [name.replace('{', `{${labels},`), values];
      }),
    ),
    quiet: 9,
    firing: 15 + waits + 2,
    cleared: 70,
  };
}

const requests = (cache: string, outcome: string, scope?: 'client' | 'process') =>
  `gateway_requests_total{cache="${cache}",outcome="${outcome}"${scope ? `,scope="${scope}"` : ''}}`;

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
    { waits: 10 },
  );
}

export const ALERT_CASES: Readonly<Record<string, AlertCase | readonly AlertCase[]>> = {
  GatewayServesDemoData: wrong(`gateway_listing_source{${GATEWAY},listing="tokens",source="demo"}`, 1, 0, 0),
  GatewayListingEmpty: wrong(`gateway_listing_state{${GATEWAY},listing="tokens",state="EMPTY"}`, 1, 0, 1),
  GatewayListingStale: wrong(`gateway_listing_state{${GATEWAY},listing="tokens",state="STALE"}`),
  GatewayUpstreamGone: forBoth((listing) =>
    wrong(`gateway_listing_gone{${GATEWAY},listing="${listing}"}`, 1, 0, 10),
  ),
  GatewayPricesRunOut: wrong(`gateway_listing_age_seconds{${GATEWAY},listing="tokens"}`, 2800, 31, 0),
  // This alert fires at once, in the minute of the first bad sample.
  GatewayRowsHeldBack: ['listing="tokens",fact="decimals"', 'listing="chains",fact="chainType"'].map(
    (labels) => ({ ...wrong(`gateway_held_back_rows{${GATEWAY},${labels}}`, 3, 0, 0), firing: 10 }),
  ),
  GatewayChangeAccepted: [
    ...forBoth((listing) => ({
      series: {
        [`gateway_accepted_changes_total{${GATEWAY},listing="${listing}",fact="decimals",by="time"}`]:
          '0x9 1x100',
        // Changes that the operator has accepted must not fire the alert.
        [`gateway_accepted_changes_total{${GATEWAY},listing="${listing}",fact="decimals",by="operator"}`]:
          '0x4 1x105',
      },
      quiet: 9,
      firing: 10,
      cleared: 75,
    })),
    // The change is accepted at the first refresh after a restart, before the first scrape. So the counter begins with 1.
    {
      series: {
        [`gateway_accepted_changes_total{${GATEWAY},listing="tokens",fact="symbol",by="time"}`]:
          '0x9 _x2 1x100',
      },
      quiet: 9,
      firing: 12,
      cleared: 80,
    },
  ],
  GatewayRowsContradict: forBoth((listing) => ({
    series: { [`gateway_contradictory_rows_total{${GATEWAY},listing="${listing}"}`]: '0x9 2+2x20 42x60' },
    quiet: 9,
    firing: 10,
    cleared: 50,
  })),
  // A token listing can be held back for only three refreshes, which are 30 s apart. Then one sample shows it.
  GatewayListingHeldBack: forBoth((listing) => ({
    series: { [`gateway_listing_held_back{${GATEWAY},listing="${listing}"}`]: '0x9 1 0x60' },
    quiet: 9,
    firing: 10,
    cleared: 20,
  })),
  GatewayNotStored: wrong(`gateway_listings_stored{${GATEWAY}}`, 0, 1, 10),
  GatewayFieldsChanged: {
    series: {
      [`gateway_upstream_field_drift_total{${GATEWAY},listing="tokens",drift="missing"}`]: '0x9 2x100',
    },
    quiet: 9,
    firing: 10,
    cleared: 75,
  },
  GatewaySweepStandsStill: [
    {
      series: { [`gateway_sweep_stopped{${GATEWAY}}`]: '0x9 1x40 0x60' },
      quiet: 39,
      firing: 41,
      cleared: 60,
    },
    {
      series: {
        [`gateway_sweep_age_seconds{${GATEWAY}}`]: '3700x9 7300x40 3700x60',
        [`gateway_sweep_interval_seconds{${GATEWAY}}`]: '3600x120',
      },
      quiet: 39,
      firing: 41,
      cleared: 60,
    },
    {
      series: {
        [`gateway_sweep_tokens_known{${GATEWAY}}`]: '0x50 1x60',
        [`gateway_sweep_tokens_left{${GATEWAY}}`]: '600x110',
      },
      quiet: 29,
      firing: 31,
      cleared: 60,
    },
  ],
  GatewayRowsRejected: {
    ...wrong(`gateway_listing_rejected_rows{${GATEWAY},listing="tokens"}`, 40, 3),
    series: {
      [`gateway_listing_rejected_rows{${GATEWAY},listing="tokens"}`]: '3x9 40x20 3x60',
      [`gateway_listing_rows{${GATEWAY},listing="tokens"}`]: '587x100',
    },
  },
  // Gateway b reports the change of service five minutes after the other gateway.
  GatewayServiceChanged: {
    series: {
      [`gateway_listing_source{${GATEWAY},listing="tokens",source="v1"}`]: '1x70 _x100',
      [`gateway_listing_source{${GATEWAY},listing="tokens",source="value-transfer"}`]: '_x70 1x100',
      'gateway_listing_source{job="gateway",instance="b",listing="tokens",source="v1"}': '1x75 _x95',
      'gateway_listing_source{job="gateway",instance="b",listing="tokens",source="value-transfer"}':
        '_x75 1x95',
    },
    quiet: 69,
    firing: 72,
    cleared: 135,
  },
  GatewayUpstreamFailing: rates({
    'gateway_upstream_requests_total{upstream="v1",path="tokens",outcome="ok"}': [4, 4],
    'gateway_upstream_requests_total{upstream="v1",path="tokens",outcome="UPSTREAM_TIMEOUT"}': [0, 4],
  }),
  GatewayBreakerOpen: wrong(`gateway_upstream_breaker_state{${GATEWAY},upstream="v1",state="open"}`, 1, 0, 3),
  GatewayRouteBreakerOpen: wrong(
    `gateway_upstream_route_breaker_state{${GATEWAY},upstream="v1",tokens="listed",state="open"}`,
    1,
    0,
    3,
  ),
  GatewayRedisLost: wrong(`gateway_redis_connected{${GATEWAY}}`, 0, 1),
  GatewayErrors: rates({
    [requests('hit', 'ok')]: [900, 900],
    [requests('miss', 'UPSTREAM_TIMEOUT', 'process')]: [3, 60],
    // These requests are not operations, and must not lower the share of errors.
    [requests('none', 'ok')]: [10_000, 10_000],
  }),
  GatewayInternalErrors: {
    // The series does not exist before the first error.
    series: {
      [`gateway_requests_total{${GATEWAY},cache="miss",outcome="INTERNAL_SERVER_ERROR"}`]: '_x10 1x90',
    },
    quiet: 9,
    firing: 12,
    cleared: 40,
  },
  GatewayOverloaded: rates({
    [requests('hit', 'ok')]: [900, 900],
    [requests('refused', 'OVERLOADED', 'process')]: [1, 100],
  }),
  GatewayClientsRefused: rates(
    {
      [requests('hit', 'ok')]: [900, 900],
      [requests('refused', 'OVERLOADED', 'client')]: [1, 200],
      [requests('refused', 'RATE_LIMITED', 'client')]: [0, 200],
      [requests('miss', 'UPSTREAM_RATE_LIMITED', 'client')]: [0, 200],
    },
    { waits: 15 },
  ),
  GatewaySlow: slowRequests('miss'),
  GatewayHitsSlow: slowRequests('hit'),
  GatewayConnectionsCut: rates({
    'gateway_http_connections_cut_total{reason="too_many_connections"}': [1, 120],
  }),
  GatewayDown: wrong(`up{${GATEWAY}}`, 0, 1, 2),
  GatewayGone: wrong(`up{${GATEWAY}}`, 0, 1, 1),
  GatewayRestarts: {
    series: { [`process_start_time_seconds{${GATEWAY}}`]: '100x9 200x2 300x2 400x80' },
    quiet: 12,
    firing: 16,
    cleared: 60,
  },
  GatewayMemoryHigh: wrong(`process_resident_memory_bytes{${GATEWAY}}`, 380e6, 160e6),
  GatewayCoreBusy: rates({ 'process_cpu_seconds_total{}': [6, 58] }, { waits: 10 }),
  GatewayBlocked: wrong(`nodejs_eventloop_lag_p99_seconds{${GATEWAY}}`, 0.4, 0.011),
  GatewayFileHandlesRunOut: {
    ...wrong(`process_open_fds{${GATEWAY}}`, 900, 40),
    series: {
      [`process_open_fds{${GATEWAY}}`]: '40x9 900x20 40x60',
      [`process_max_fds{${GATEWAY}}`]: '1024x100',
    },
  },
  GatewayLogLinesLost: rates({ 'gateway_log_lines_dropped_total{}': [0, 3] }, { waits: 0 }),
  GatewayVersionsDiffer: {
    series: {
      // The gateways have two builds of the same version.
      'gateway_build_info{job="gateway",instance="a",version="1",revision="a1"}': '1x100 _x60',
      'gateway_build_info{job="gateway",instance="a",version="1",revision="b2"}': '_x100 1x60',
      'gateway_build_info{job="gateway",instance="b",version="1",revision="b2"}': '1x160',
    },
    quiet: 59,
    firing: 70,
    cleared: 120,
  },
};

/** Cases in which an alert must never fire: one anonymous client causes the data, or there is too little data. */
export const SILENT_CASES: readonly (readonly [why: string, alert: string, AlertCase])[] = [
  [
    'one client asks for more routes than the upstream may be asked for',
    'GatewayErrors',
    rates({
      [requests('hit', 'ok')]: [900, 900],
      [requests('miss', 'UPSTREAM_RATE_LIMITED', 'client')]: [0, 6_000],
      [requests('miss', 'UPSTREAM_STATUS', 'client')]: [0, 6_000],
      [requests('refused', 'RATE_LIMITED', 'client')]: [0, 6_000],
    }),
  ],
  [
    'one client floods the gateway',
    'GatewayOverloaded',
    rates({
      [requests('hit', 'ok')]: [900, 900],
      [requests('refused', 'OVERLOADED', 'client')]: [0, 6_000],
    }),
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
    'one of three attempts fails where there is one in two minutes',
    'GatewayUpstreamFailing',
    rates({
      'gateway_upstream_requests_total{upstream="v1",path="chains",outcome="ok"}': [0.5, 0.33],
      'gateway_upstream_requests_total{upstream="v1",path="chains",outcome="UPSTREAM_TIMEOUT"}': [0, 0.17],
    }),
  ],
  [
    'a few are refused in a quiet night',
    'GatewayClientsRefused',
    rates(
      {
        [requests('hit', 'ok')]: [1, 1],
        [requests('refused', 'RATE_LIMITED', 'client')]: [0, 1],
      },
      { waits: 15 },
    ),
  ],
  ['a few are slow in a quiet night', 'GatewaySlow', slowRequests('miss', 6)],
  ['a few hits are slow in a quiet night', 'GatewayHitsSlow', slowRequests('hit', 6)],
  [
    'a gateway starts that was not there',
    'GatewayServiceChanged',
    {
      series: { [`gateway_listing_source{${GATEWAY},listing="tokens",source="v1"}`]: '_x10 1x160' },
      quiet: 5,
      firing: 12,
      cleared: 80,
    },
  ],
];
