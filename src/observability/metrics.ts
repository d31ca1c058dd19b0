/** The metrics of a gateway, for Prometheus. */
import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Counter, collectDefaultMetrics, type Gauge, Histogram, Registry } from 'prom-client';
import { GUARDED_FACTS } from '../domain/guarded-facts.js';
import type { GuardedFact } from '../domain/listing.js';
import type { AcceptedBy } from '../domain/listing-memory.js';
import type { ListingState } from '../snapshots/freshness.js';
import type { ListingStatus } from '../snapshots/refresher.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import { METRICS } from './metric-table.js';
import { createRequestMetrics } from './request-metrics.js';
import { REVISION, VERSION } from './version.js';

/** The values of labels whose series exist from the start, so that alerts see the first change. */
const ACCEPTED_BY: readonly AcceptedBy[] = ['time', 'operator'];
const LISTING_STATES: readonly ListingState[] = ['FRESH', 'STALE', 'EMPTY'];
const BREAKER_STATES = ['closed', 'half-open', 'open'] as const;
type BreakerState = (typeof BREAKER_STATES)[number];

type Name = keyof typeof METRICS;
type LabelOf<N extends Name> = (typeof METRICS)[N]['labels'][number];
type NameOf<Type extends string> = {
  [N in Name]: (typeof METRICS)[N]['type'] extends Type ? N : never;
}[Name];

export interface Sample {
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly value: number;
  /** The name of the series, if it is not that of the metric. */
  readonly metricName?: string;
}

const stateSamples = (states: readonly string[], current: string, labels?: Sample['labels']) =>
  states.map((state): Sample => ({ labels: { ...labels, state }, value: Number(state === current) }));

const samplesOf = (value: number | null | undefined): readonly Sample[] => (value == null ? [] : [{ value }]);

/** The gauges of each listing, without the label `listing`. */
const LISTING_GAUGES: readonly (readonly [Name, (status: ListingStatus) => readonly Sample[]])[] = [
  ['gateway_listing_state', ({ state }) => stateSamples(LISTING_STATES, state)],
  ['gateway_listing_source', ({ source }) => [{ labels: { source }, value: 1 }]],
  ['gateway_listing_age_seconds', ({ ageMs }) => samplesOf(ageMs && ageMs / 1000)],
  ['gateway_listing_rows', ({ rows }) => samplesOf(rows)],
  ['gateway_listing_rejected_rows', ({ rejectedRows }) => samplesOf(rejectedRows)],
  ['gateway_listing_gone', ({ isGone }) => samplesOf(Number(isGone))],
  ['gateway_listing_held_back', ({ isHeldBack }) => samplesOf(Number(isHeldBack))],
  ['gateway_held_back_rows', heldBackRows],
  ['gateway_held_back_oldest_seconds', ({ openFacts }) => samplesOf(oldestMs(openFacts) / 1000)],
];

function heldBackRows({ name, openFacts }: ListingStatus): readonly Sample[] {
  const rowsWith = (fact: GuardedFact) => openFacts.filter((each) => each.fact === fact).length;
  return GUARDED_FACTS[name].map((fact) => ({ labels: { fact }, value: rowsWith(fact) }));
}

const oldestMs = (openFacts: ListingStatus['openFacts']) =>
  Math.max(0, ...openFacts.map(({ since }) => Date.now() - since));

type SweepStatus = NonNullable<Snapshots['sweepStatus']>;

/** The gauges of the sweep, each with the function that reads its value; undefined if there is none. */
const SWEEP_GAUGES: readonly (readonly [Name, (status: ReturnType<SweepStatus>) => number | undefined])[] = [
  ['gateway_sweep_tokens_known', ({ known }) => known],
  ['gateway_sweep_tokens_left', ({ left }) => left],
  ['gateway_sweep_age_seconds', ({ ageMs }) => ageMs && ageMs / 1000],
  ['gateway_sweep_interval_seconds', ({ intervalMs }) => intervalMs / 1000],
  ['gateway_sweep_stopped', ({ isStopped }) => Number(isStopped)],
];

/** After its last refusal, a client counts as refused for this long. */
const RECENT_MS = 60_000;
/** The most refused clients that the gauge can count: they take about 2 MB. */
const MAX_CLIENTS = 10_000;

const DURATION_BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Values of labels never come from clients, because each new value is kept until the process ends.
 *
 * @param ofProcess whether to include metrics of the process, such as its memory
 */
export function createMetrics({ ofProcess = true } = {}) {
  const registry = new Registry();
  const registers = [registry];
  /** What prom-client needs to know of a metric. */
  function definitionOf<N extends Name>(name: N) {
    const { help, labels } = METRICS[name];
    return { name, help, labelNames: labels as readonly LabelOf<N>[], registers };
  }
  const counter = <N extends NameOf<'counter'>>(name: N) => new Counter(definitionOf(name));
  const histogram = <N extends NameOf<'histogram'>>(name: N) =>
    new Histogram({ ...definitionOf(name), buckets: DURATION_BUCKETS });
  /** Adds a metric whose samples are computed at each scrape. */
  function computed(name: Name, samples: () => readonly Sample[]): void {
    const { type, help } = METRICS[name];
    const get = async () => ({ name, help, type, values: samples() });
    // The registry calls no other member of a metric.
    registry.registerMetric({ name, get } as unknown as Gauge);
  }
  /** Adds a gauge, and returns the function that sets its value. The gauge is absent until this function is called. */
  function settable(name: Name): (value: number | boolean) => void {
    let current: number | undefined;
    computed(name, () => samplesOf(current));
    return (value) => {
      current = Number(value);
    };
  }

  const refreshes = counter('gateway_listing_refreshes_total');
  const holdBacks = counter('gateway_listing_hold_backs_total');
  const drifts = counter('gateway_upstream_field_drift_total');
  const accepted = counter('gateway_accepted_changes_total');
  const contradictory = counter('gateway_contradictory_rows_total');
  for (const [listing, facts] of Object.entries(GUARDED_FACTS)) {
    for (const drift of ['appeared', 'missing']) drifts.inc({ listing, drift }, 0);
    contradictory.inc({ listing }, 0);
    for (const fact of facts) for (const by of ACCEPTED_BY) accepted.inc({ listing, fact, by }, 0);
  }

  const attempts = counter('gateway_upstream_requests_total');
  const durations = histogram('gateway_upstream_request_duration_seconds');
  const waits = histogram('gateway_operation_wait_seconds');
  for (const reason of ['turn', 'upstream']) waits.zero({ reason });
  const breakers = { listings: new Map<string, BreakerState>(), routes: new Map<string, BreakerState>() };
  const breakerSamples = (lane: keyof typeof breakers, labels?: Sample['labels']) => () =>
    [...breakers[lane]].flatMap(([upstream, state]) =>
      stateSamples(BREAKER_STATES, state, { upstream, ...labels }),
    );
  computed('gateway_upstream_breaker_state', breakerSamples('listings'));
  computed('gateway_upstream_route_breaker_state', breakerSamples('routes', { tokens: 'listed' }));
  const changeovers = counter('gateway_upstream_changeovers_total');
  const conflicts = counter('gateway_route_rows_conflicting_total');

  const limitedClients = new LRUCache<string, true>({ max: MAX_CLIENTS, ttl: RECENT_MS });
  computed('gateway_rate_limited_clients', () => {
    limitedClients.purgeStale();
    return [{ value: limitedClients.size }];
  });
  const cuts = counter('gateway_http_connections_cut_total');
  const { samples, ...requests } = createRequestMetrics();
  computed('gateway_requests_total', samples.requests);
  computed('gateway_response_bytes_total', samples.bytes);
  computed('gateway_request_duration_seconds', samples.durations);
  computed('gateway_requests_in_flight', samples.inFlight);
  const droppedLines = counter('gateway_log_lines_dropped_total');
  computed('gateway_build_info', () => [{ labels: { version: VERSION, revision: REVISION }, value: 1 }]);
  if (ofProcess) {
    collectDefaultMetrics({ register: registry });
    // Removed: these are gauges, but their names end in `_total` like the names of counters. The metrics
    // without `_total` have the same values by type.
    for (const what of ['handles', 'requests', 'resources'])
      registry.removeSingleMetric(`nodejs_active_${what}_total`);
  }

  let collecting: Promise<string> | undefined;

  /** {@link METRICS} says what these functions report. `watch` functions add metrics, whose values are read at each scrape. */
  return {
    requests,
    /** @param client as `RATE_LIMIT` counts it; not used as a label */
    rateLimited: (client: string) => limitedClients.set(client, true),
    watchSnapshots(snapshots: Pick<Snapshots, 'status' | 'sweepStatus'>) {
      const { sweepStatus } = snapshots;
      const labelled = ({ name: listing }: ListingStatus, samples: readonly Sample[]) =>
        samples.map(({ labels, value }) => ({ labels: { listing, ...labels }, value }));
      const listings = () => snapshots.status(Date.now());
      for (const [name, read] of LISTING_GAUGES)
        computed(name, () => listings().flatMap((status) => labelled(status, read(status))));
      if (!sweepStatus) return;
      for (const [name, read] of SWEEP_GAUGES) computed(name, () => samplesOf(read(sweepStatus())));
    },
    watchCache(size: () => { readonly bytes: number; readonly entries: number }) {
      computed('gateway_response_cache_bytes', () => [{ value: size().bytes }]);
      computed('gateway_response_cache_entries', () => [{ value: size().entries }]);
    },
    acceptedChange: (listing: string, fact: GuardedFact, by: AcceptedBy) =>
      accepted.inc({ listing, fact, by }),
    contradictoryRows: (listing: string, count: number) => contradictory.inc({ listing }, count),
    logLineDropped: () => droppedLines.inc(),
    /** @param outcome `ok` or the code of the error */
    upstreamRequest(upstream: string, path: string, outcome: string, seconds: number) {
      const labels = { upstream, path, outcome };
      attempts.inc(labels);
      durations.observe(labels, seconds);
    },
    breaker(upstream: string, state: BreakerState, lane: keyof typeof breakers) {
      breakers[lane].set(upstream, state);
    },
    conflictingRouteRows: (count: number) => conflicts.inc(count),
    refresh(listing: string, outcome: string, heldBackFor: readonly string[] = []) {
      refreshes.inc({ listing, outcome });
      for (const reason of heldBackFor) holdBacks.inc({ listing, reason });
    },
    fieldDrift: (listing: string, drift: 'appeared' | 'missing', fields: number) =>
      drifts.inc({ listing, drift }, fields),
    tokenListOmitted: settable('gateway_token_list_omitted_rows'),
    changedOver: (from: string, to: string) => changeovers.inc({ from, to }),
    waited: (reason: 'turn' | 'upstream', seconds: number) => waits.observe({ reason }, seconds),
    stored: settable('gateway_listings_stored'),
    sharing: settable('gateway_redis_connected'),
    connectionCut: (reason: string) => cuts.inc({ reason }),
    /** All metrics in the exposition format. Rejects if a watched function throws. */
    async expose() {
      // All requests that arrive in one turn of the event loop share one text: to make it takes milliseconds.
      collecting ??= setImmediate().then(() => {
        collecting = undefined;
        return registry.metrics();
      });
      return { contentType: registry.contentType as string, text: await collecting };
    },
  };
}
