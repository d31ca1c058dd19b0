/** The HTTP client of one upstream service. */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, fetch, Headers } from 'undici';
import type { Config } from '../../config/config.js';
import type { RouteClients, ServiceName } from '../../domain/listing.js';
import { asUpstreamError, UpstreamError } from '../../domain/upstream-error.js';
import type { Logger } from '../../logger/logger.js';
import { currentTracing, type EndSpan } from '../../tracing.js';
import { type AdmissionOptions, createAdmission, pauseKey } from './admission.js';
import { type BreakerState, createBackoff, LANES, type Lane } from './backoff.js';
import { goneError, networkError, retryDelay, statusError, stoppingError, timeoutError } from './errors.js';
import { ageOf, headOf, readJson } from './read-json.js';

export interface UpstreamHttpOptions extends Config, AdmissionOptions {
  readonly baseUrl: string;
  readonly metrics: UpstreamMetrics;
  readonly log: Logger;
}

export interface UpstreamMetrics {
  /** Called at the end of each attempt. @param outcome `ok` or the error's code */
  readonly upstreamRequest: (service: ServiceName, path: string, outcome: string, seconds: number) => void;
  readonly breaker: (service: ServiceName, state: BreakerState, lane: Lane) => void;
}

export interface UpstreamAnswer {
  readonly json: unknown;
  readonly bytes: number;
  readonly sentAt: number;
  readonly ageMs: number;
}

export interface UpstreamRequest {
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly lane: Lane;
  readonly clients?: RouteClients | undefined;
}

export type UpstreamHttp = ReturnType<typeof createUpstreamHttp>;

/** A host that accepts no connection within this time counts as down: a longer wait would delay the retry. */
const CONNECT_TIMEOUT_MS = 5_000;

export function createUpstreamHttp(options: UpstreamHttpOptions) {
  const { service, upstreamTimeoutMs: timeoutMs, rateLimiter, metrics, log } = options;
  const base = options.baseUrl.replace(/\/+$/, '');
  const connectTimeoutMs = Math.min(timeoutMs, CONNECT_TIMEOUT_MS);
  const headers = new Headers({ accept: 'application/json' });
  for (const [name, value] of Object.entries(options.upstreamHeaders)) headers.set(name, value);
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    keepAliveTimeout: 30_000,
    // Off: `timeoutMs` limits the whole attempt, and undici would report a timeout by these limits as another error.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const backoff = createBackoff(
    (lane, state, before) => {
      const level = state === 'closed' ? 'info' : before === 'closed' ? 'warn' : 'debug';
      log[level]({ upstream: base, requests: lane, breaker: state }, BREAKER_NEWS[state]);
      metrics.breaker(service, state, lane);
    },
    (ms, lane) => {
      // A pause of listings is also a pause of routes.
      for (const paused of LANES.slice(LANES.indexOf(lane)))
        rateLimiter.pause?.(pauseKey(service, paused), ms);
    },
  );
  for (const lane of LANES) metrics.breaker(service, 'closed', lane);
  const closing = new AbortController();
  // Every request in progress listens to this signal. Without the call, Node would warn about too many listeners.
  setMaxListeners(0, closing.signal);
  const admit = createAdmission(options, backoff, closing.signal);
  const tracing = currentTracing();

  /** Retries after a transient failure. Rejects with UpstreamErrors only. */
  async function getJson(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const url = addressOf(base, request);
    const { path, lane, clients = UNKNOWN_CLIENT } = request;
    const maxFailures = clients.isForSweepOnly ? 0 : options.upstreamRetries;
    let failure: UpstreamError | undefined;
    for (let failures = 0; ; failures++) {
      // A retry fails at once if the breaker is open: the caller tries again after a pause.
      const admitted = { url, lane, waits: lane === 'listings' && failures === 0, clients } as const;
      await admit(admitted).catch((refusal: unknown) => {
        // Why the first attempt failed says more than why its retry was not sent.
        throw failure ?? refusal;
      });
      try {
        return await backoff.run(admitted, () => attempt(path, url));
      } catch (thrown) {
        failure = asUpstreamError(thrown);
        const pauseMs = retryDelay(failures, failure);
        if (closing.signal.aborted || failures >= maxFailures || pauseMs === undefined) throw failure;
        await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => {
          throw stoppingError();
        });
      }
    }
  }

  function attempt(path: string, url: string): Promise<UpstreamAnswer> {
    const observed = async (endSpan?: EndSpan, traceHeaders?: Readonly<Record<string, string>>) => {
      const startedAt = performance.now();
      let failure: string | undefined;
      try {
        return await send(url, traceHeaders);
      } catch (error) {
        failure = error instanceof UpstreamError ? error.code : 'INTERNAL_SERVER_ERROR';
        throw error;
      } finally {
        metrics.upstreamRequest(service, path, failure ?? 'ok', (performance.now() - startedAt) / 1000);
        endSpan?.({}, failure);
      }
    };
    const attributes = { 'gateway.upstream': service, 'gateway.path': path };
    return tracing ? tracing.inAttempt(attributes, observed) : observed();
  }

  async function send(url: string, traceHeaders = {}): Promise<UpstreamAnswer> {
    const attempted = new AbortController();
    const stop = () => attempted.abort(stoppingError());
    closing.signal.addEventListener('abort', stop);
    if (closing.signal.aborted) stop();
    const timer = setTimeout(() => attempted.abort(timeoutError(timeoutMs, url)), timeoutMs);
    const sentAt = Date.now();
    try {
      const response = await fetch(url, {
        dispatcher: agent,
        headers: new Headers([...headers, ...Object.entries<string>(traceHeaders)]),
        // A redirect would send the configured headers, which may contain a key, to an address that nobody configured.
        redirect: 'manual',
        signal: attempted.signal,
      });
      rateLimiter.answered?.();
      if (response.status !== 200) throw statusError(response, url, await headOf(response));
      const { json, bytes } = await readJson(response, url, options.upstreamMaxBytes);
      const gone = goneError(json, url);
      if (gone) throw gone;
      return { json, bytes, sentAt, ageMs: ageOf(response.headers.get('age')) };
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      if (attempted.signal.reason instanceof UpstreamError) throw attempted.signal.reason;
      throw networkError(error, url, connectTimeoutMs);
    } finally {
      clearTimeout(timer);
      closing.signal.removeEventListener('abort', stop);
      // Closes the connection of an answer that was not read to its end; without effect otherwise.
      attempted.abort();
    }
  }

  return {
    getJson,
    forgetGone: backoff.forgetGone,
    async close(): Promise<void> {
      closing.abort();
      // Bun replaces undici by its own code, in which agents have no connections and no `destroy`.
      await (agent as Partial<Agent>).destroy?.();
    },
  };
}

const BREAKER_NEWS: Record<BreakerState, string> = {
  open: 'The upstream keeps failing: no such request is sent, except for probes, about every two seconds',
  'half-open': 'Probing whether the upstream answers again',
  closed: 'The upstream answers again',
};

const UNKNOWN_CLIENT: RouteClients = {
  isListed: true,
  isForSweepOnly: false,
  watch: (listener) => listener(undefined),
};

function addressOf(base: string, { path, query = {} }: UpstreamRequest): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const search = new URLSearchParams(given).toString();
  return `${base}/${path}${search && `?${search}`}`;
}
