import { Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { type Config, readConfig } from '../../src/config.js';
import type { Listing } from '../../src/domain/listing.js';
import { createGateway, type Gateway } from '../../src/gateway.js';
import { createLogger, type Logger } from '../../src/logger.js';
import { createMetrics, type Metrics } from '../../src/observability/metrics.js';
import { openSnapshots } from '../../src/open-snapshots.js';
import { pageDocuments } from '../../src/pages/page-documents.js';
import type { Peers } from '../../src/snapshots/peers.js';
import type { Snapshots } from '../../src/snapshots/snapshots.js';
import { type FakeUpstream, startFakeUpstream } from './fake-upstream.js';

/** An error of an answer, as a client sees it. */
export interface AnsweredError {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string };
}

/** An answer, as a client sees it. */
export interface Answered<Data> {
  readonly data?: Data;
  readonly errors?: readonly AnsweredError[];
}

/** One line of the log. */
export type LogLine = Record<string, unknown> & { readonly msg: string };

export interface TestGateway {
  readonly gateway: Gateway;
  readonly snapshots: Snapshots;
  readonly upstream: FakeUpstream;
  readonly metrics: Metrics;
  /** How often one service has taken the place of another. */
  changeOvers(): number;
  /** What was logged so far. */
  readonly logged: LogLine[];
  /** Asks by POST, as most clients do. */
  query<Data = Record<string, never>>(query: string, variables?: object): Promise<Answered<Data>>;
  /** Asks with any request for a path. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
}

export interface TestGatewayOptions {
  /** One with the demo listings unless given. */
  readonly upstream?: FakeUpstream;
  /** What differs from the defaults; limits that a busy machine could reach are far away unless set here. */
  readonly config?: Partial<Config>;
  readonly firstPauseMs?: number;
  /** Bounds on the map of routes. */
  readonly routeMapLimits?: { readonly pairs: number; readonly destinations: number };
  /** Long unless given, so that a busy machine does not keep gateways from sharing. */
  readonly redisTimeoutMs?: number;
  /** The gateways to share with, where it is not through Redis. */
  readonly peers?: Peers;
  /** Stands between the upstream half and the graph half. */
  readonly decorate?: (listing: Listing) => Listing;
  readonly isStopping?: () => boolean;
  /** What takes the ending of it; a gateway that serves several tests ends after all of them. */
  readonly atEnd?: (end: () => Promise<void>) => void;
}

/** Limits that tests of other things must not reach: how long an operation waits depends on the machine. */
const FAR_LIMITS = { upstreamRequestsPerSecond: 1000, maxWaitMs: 600_000, upstreamTimeoutMs: 600_000 };

/** A log that a test can read. */
export async function createTestLog(): Promise<{ log: Logger; logged: LogLine[] }> {
  const logged: LogLine[] = [];
  const destination = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).trim().split('\n')) logged.push(JSON.parse(line) as LogLine);
      done();
    },
  });
  return { log: await createLogger({ level: 'trace', readable: false, destination }), logged };
}

/** The whole gateway in front of a real HTTP upstream, wired as the process wires it but without a port. */
export async function createTestGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const upstream = options.upstream ?? (await startFakeUpstream());
  const { log, logged } = await createTestLog();
  const config = { ...defaultConfig(), ...FAR_LIMITS, ...options.config };
  const metrics = createMetrics();
  let changeOvers = 0;
  const { snapshots, close } = await openSnapshots({
    ...config,
    addresses: {
      profile: config.upstreamProfile,
      url: upstream.url,
      successorUrl: config.upstreamSuccessorUrl,
      isDemo: false,
    },
    metrics: {
      ...metrics,
      changedOver(from, to) {
        changeOvers++;
        metrics.changedOver(from, to);
      },
    },
    firstPauseMs: options.firstPauseMs,
    routeMapLimits: options.routeMapLimits,
    redisTimeoutMs: options.redisTimeoutMs ?? 30_000,
    peers: options.peers,
    ...(options.decorate ? { decorate: options.decorate } : {}),
    log,
  });
  metrics.watchListings(() => snapshots.status(Date.now()));
  const gateway = createGateway({
    ...config,
    pageDocuments: config.trustedDocumentsOnly ? pageDocuments(config.graphiql) : [],
    snapshots,
    metrics,
    log,
    isDemo: false,
    isStopping: options.isStopping ?? (() => false),
  });
  const { atEnd = onTestFinished } = options;
  atEnd(async () => {
    await close();
    await upstream.close();
  });

  async function fetch(path: string, init?: RequestInit): Promise<Response> {
    return gateway.fetch(new Request(`http://gateway${path}`, init), {});
  }
  return {
    gateway,
    snapshots,
    upstream,
    metrics,
    changeOvers: () => changeOvers,
    logged,
    fetch,
    async query<Data>(query: string, variables?: object) {
      const response = await fetch('/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      });
      return (await response.json()) as Answered<Data>;
    },
  };
}

/** The settings of a process without any environment variables. */
export function defaultConfig(): Config {
  const settings = readConfig({});
  if ('errors' in settings) throw new Error(settings.errors.join('; '));
  return settings.config;
}

/** The codes of an answer's errors. */
export function codesOf({ errors = [] }: Answered<unknown>): (string | undefined)[] {
  return errors.map(({ extensions }) => extensions?.code);
}
