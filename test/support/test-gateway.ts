/** A whole gateway without a port, with a real HTTP upstream and a log that a test can read. */
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished } from 'vitest';
import { assemble } from '../../src/assemble.js';
import { type Config, readConfig } from '../../src/config/config.js';
import type { Service } from '../../src/domain/listing.js';
import { parseListingRules } from '../../src/domain/listing-rules.js';
import type { Gateway } from '../../src/gateway.js';
import { requestIdFrom } from '../../src/http/headers.js';
import { OPTIONAL_PATHS } from '../../src/http/paths.js';
import { plainRefusal } from '../../src/http/refusal.js';
import { createLogger, LOG_LEVELS, type Logger, type LogLevel } from '../../src/logger/logger.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { until } from './clock.js';
import type { AtEnd } from './ends.js';
import { type FakeAnswers, type FakeUpstream, startFakeUpstream } from './fake-upstream.js';

export interface Answered<Data> {
  readonly data?: Data;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions?: { readonly code?: string };
  }[];
}

export type LogLine = Record<string, unknown> & { readonly msg: string };

export function isAtLeast({ level }: LogLine, least: LogLevel): boolean {
  return LOG_LEVELS.indexOf(level as LogLevel) >= LOG_LEVELS.indexOf(least);
}

export type Settings = Partial<Config>;

export interface TestOptions {
  /** The upstream. Unless given, a fake one is started, with `listings` or else with the demo listings. */
  readonly upstream?: FakeUpstream;
  readonly listings?: FakeAnswers;
  /** Settings that differ from the defaults. Unless set here, limits that a busy machine could reach are very high. */
  readonly config?: Settings;
  readonly firstPauseMs?: number;
  /** The default is long, so that gateways can share on a busy machine, too. */
  readonly redisTimeoutMs?: number;
  readonly decorate?: (service: Service) => Service;
  readonly hasListings?: boolean;
  /** Registers the function that ends the gateway. The default ends it after the test in which it was started. */
  readonly atEnd?: AtEnd;
}

/** A service whose routes cause an internal error, with the message `secret-bug`. */
export function withBrokenRoutes(service: Service): Service {
  const row = {
    symbol: '',
    name: '',
    get address(): string {
      throw new Error('secret-bug');
    },
  };
  const routes = () => Promise.resolve({ rejected: { count: 0, first: [] }, rows: [row] } as never);
  return { ...service, routes };
}

/** All paths, and limits so high that a busy machine does not reach them in tests of other behaviour. */
const FAR_LIMITS = {
  servedPaths: OPTIONAL_PATHS,
  upstreamRequestsPerSecond: 1000,
  maxWaitMs: 600_000,
  upstreamTimeoutMs: 600_000,
};

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

export type TestGateway = Awaited<ReturnType<typeof createTestGateway>>;

export async function createTestGateway(options: TestOptions = {}) {
  const upstream = options.upstream ?? (await startFakeUpstream(options.listings));
  const { log, logged } = await createTestLog();
  const config = { ...defaultConfig(), ...FAR_LIMITS, ...options.config };
  // Metrics of the process would keep every gateway in memory until the end of the test run.
  const metrics = createMetrics({ ofProcess: false });
  const refreshes: { readonly listing: string; readonly outcome: string }[] = [];
  const { gateway, snapshots, checkDependencies, refreshOnRequest, close } = await assemble({
    config: { ...config, upstreamUrl: upstream.url },
    metrics: {
      ...metrics,
      refresh(listing, outcome, heldBackFor) {
        refreshes.push({ listing, outcome });
        metrics.refresh(listing, outcome, heldBackFor);
      },
    },
    firstPauseMs: options.firstPauseMs,
    redisTimeoutMs: options.redisTimeoutMs ?? 30_000,
    decorate: options.decorate,
    log,
  });
  const { atEnd = onTestFinished } = options;
  atEnd(async () => {
    await close();
    await upstream.close();
  });

  async function fetch(path: string, init?: RequestInit, client?: string): Promise<Response> {
    return answerOf(gateway, new Request(`http://gateway${path}`, init), client);
  }
  const post = (body: unknown, headers: Record<string, string> = {}, client?: string) => {
    const all = { 'content-type': 'application/json', ...headers };
    return fetch('/graphql', { method: 'POST', headers: all, body: JSON.stringify(body) }, client);
  };
  async function query<Data = Record<string, never>>(query: string, variables?: object) {
    return (await (await post({ query, variables })).json()) as Answered<Data>;
  }
  /** Refreshes both listings. Resolves when both refreshes have ended, successfully or not. */
  async function refresh() {
    const ended = (name: string) => refreshes.filter(({ listing }) => listing === name).length;
    const [chains, tokens] = [ended('chains'), ended('tokens')];
    // Two snapshots must not have the same `takenAt`, which is in milliseconds.
    await sleep(2);
    snapshots.refreshNow();
    await until(async () => ended('chains') > chains && ended('tokens') > tokens);
  }
  if (options.hasListings) {
    await query('{ chains { name } tokens { name } }');
    // If the tokens came first, they are guarded again after the chains, and the token list is made only then.
    const isWhole = () => {
      const { chains, tokens } = snapshots.current();
      return !chains || !tokens || tokens.history.tokenList !== undefined;
    };
    while (!isWhole()) await sleep(1);
  }
  return {
    gateway,
    snapshots,
    listings() {
      const [chains, tokens] = snapshots.status(Date.now());
      return { chains, tokens };
    },
    checkDependencies,
    upstream,
    metrics,
    apply: (rules: string) => snapshots.applyRules(parseListingRules(rules)),
    refreshOnRequest,
    refresh,
    refreshes: refreshes as readonly (typeof refreshes)[number][],
    logged,
    linesWith: (text: string) => logged.filter(({ msg }) => msg.includes(text)),
    fetch,
    post,
    query,
  };
}

export async function answerOf(gateway: Gateway, request: Request, client?: string): Promise<Response> {
  const { method, url, headers } = request;
  const isOperation = gateway.isOperation({ method, url, accept: headers.get('accept') });
  const requestId = requestIdFrom(headers.get('x-request-id'));
  const answer = await gateway.respond({ isOperation, toRequest: () => request }, { client, requestId });
  if (!answer || 'written' in answer) throw new TypeError('Expected a response of GraphQL Yoga');
  const { body, ...init } = 'response' in answer ? answer.response : plainRefusal(answer.refusal);
  return new Response(body, init);
}

export function defaultConfig(): Config {
  const settings = readConfig({});
  if ('errors' in settings) throw new Error(settings.errors.join('; '));
  return settings.config;
}

export async function dataOf<Data>(answer: Promise<Answered<Data>>): Promise<Data> {
  const { data, errors } = await answer;
  expect(errors).toBeUndefined();
  return data as Data;
}

export function codesOf({ errors = [] }: Answered<unknown>): (string | undefined)[] {
  return errors.map(({ extensions }) => extensions?.code);
}

export async function sampleOf({ metrics }: TestGateway, series: string): Promise<number | undefined> {
  const { text } = await metrics.expose();
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
