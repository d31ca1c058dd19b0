/** When an alert is to fire, and when no longer. Series are written as promtool has them, one value a minute. */
export interface AlertCase {
  /** Each a series and its values. */
  readonly series: Readonly<Record<string, string>>;
  /** Minutes after which it has not fired yet, fires, and fires no longer. */
  readonly quiet: number;
  readonly firing: number;
  readonly cleared: number;
}

const GATEWAY = 'job="gateway",instance="a"';

/** For the listing of tokens and for that of chains. */
const forBoth = (caseOf: (listing: string) => AlertCase): readonly AlertCase[] =>
  ['tokens', 'chains'].map(caseOf);

/** A gauge that is wrong from the tenth minute to the thirtieth. */
const wrong = (series: string, bad = 1, good = 0, waits = 5): AlertCase => ({
  series: { [series]: `${good}x9 ${bad}x20 ${good}x60` },
  quiet: waits > 0 ? 10 + waits - 1 : 9,
  firing: 10 + waits + 1,
  cleared: 40,
});

/** Counters that grow by these each minute, from the tenth minute to the fortieth, and before and after by the others. */
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

const requests = (cache: string, outcome: string) =>
  `gateway_requests_total{cache="${cache}",outcome="${outcome}"}`;

/** Of so many requests a minute, all are answered within 1 ms; in the bad half hour, so many of them within 5 s only. */
function slowRequests(cache: string): AlertCase {
  const bucket = (le: string) => `gateway_request_duration_seconds_bucket{cache="${cache}",le="${le}"}`;
  return rates(
    { [bucket('0.001')]: [600, 500], [bucket('5')]: [600, 600], [bucket('+Inf')]: [600, 600] },
    { waits: 10 },
  );
}

export const ALERT_CASES: Readonly<Record<string, AlertCase | readonly AlertCase[]>> = {
  GatewayServesDemoData: wrong(`gateway_listing_source{${GATEWAY},listing="tokens",source="demo"}`, 1, 0, 0),
  GatewayListingEmpty: wrong(`gateway_listing_state{${GATEWAY},listing="tokens",state="EMPTY"}`, 1, 0, 1),
  GatewayListingStale: wrong(`gateway_listing_state{${GATEWAY},listing="tokens",state="STALE"}`),
  GatewayPricesRunOut: wrong(`gateway_listing_age_seconds{${GATEWAY},listing="tokens"}`, 2800, 31, 0),
  // At once: in the very minute of the first sample.
  GatewayRowsHeldBack: ['listing="tokens",fact="decimals"', 'listing="chains",fact="chainType"'].map(
    (labels) => ({ ...wrong(`gateway_held_back_rows{${GATEWAY},${labels}}`, 3, 0, 0), firing: 10 }),
  ),
  GatewayChangeAccepted: [
    ...forBoth((listing) => ({
      series: {
        [`gateway_accepted_changes_total{${GATEWAY},listing="${listing}",fact="decimals",by="time"}`]:
          '0x9 1x100',
        // The operator knows.
        [`gateway_accepted_changes_total{${GATEWAY},listing="${listing}",fact="decimals",by="operator"}`]:
          '0x4 1x105',
      },
      quiet: 9,
      firing: 10,
      cleared: 75,
    })),
    // Accepted at the first refresh after a restart, before the first scrape.
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
  // A token listing is accepted at the third of three refreshes, 30 s apart: one sample of a minute shows it.
  GatewayListingHeldBack: forBoth((listing) => ({
    series: { [`gateway_listing_held_back{${GATEWAY},listing="${listing}"}`]: '0x9 1 0x60' },
    quiet: 9,
    firing: 10,
    cleared: 20,
  })),
  GatewayRowsRejected: {
    ...wrong(`gateway_listing_rejected_rows{${GATEWAY},listing="tokens"}`, 40, 3),
    series: {
      [`gateway_listing_rejected_rows{${GATEWAY},listing="tokens"}`]: '3x9 40x20 3x60',
      [`gateway_listing_rows{${GATEWAY},listing="tokens"}`]: '587x100',
    },
  },
  GatewayUpstreamFailing: rates({
    'gateway_upstream_requests_total{upstream="v1",path="tokens",outcome="ok"}': [2, 1],
    'gateway_upstream_requests_total{upstream="v1",path="tokens",outcome="UPSTREAM_TIMEOUT"}': [0, 1],
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
    [requests('miss', 'UPSTREAM_TIMEOUT')]: [3, 60],
    // No operations: they do not make the share of errors smaller.
    [requests('none', 'ok')]: [10_000, 10_000],
  }),
  GatewayInternalErrors: {
    // The series begins with the first error.
    series: {
      [`gateway_requests_total{${GATEWAY},cache="miss",outcome="INTERNAL_SERVER_ERROR"}`]: '_x10 1x90',
    },
    quiet: 9,
    firing: 12,
    cleared: 40,
  },
  GatewayOverloaded: rates({
    [requests('hit', 'ok')]: [900, 900],
    [requests('refused', 'OVERLOADED')]: [1, 100],
  }),
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
      'gateway_build_info{job="gateway",instance="a",version="1"}': '1x100 _x60',
      'gateway_build_info{job="gateway",instance="a",version="2"}': '_x100 1x60',
      'gateway_build_info{job="gateway",instance="b",version="2"}': '1x160',
    },
    quiet: 59,
    firing: 70,
    cleared: 120,
  },
};
