/** A real HTTP server like the v1 service, which counts requests, and whose answers and faults a test plans. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AtEnd } from './ends.js';

/** Responds to one request to the fake upstream. `nth` counts the requests for that path from 1. */
export type Answer = (response: ServerResponse, request: IncomingMessage, nth: number) => void;

export interface SeenRequest {
  readonly path: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** When the request was received, by `performance.now()`. */
  readonly at: number;
  /** The earliest time at which the request can have arrived: while this process is blocked, requests wait unread. */
  readonly notBefore: number;
}

export type FakeUpstream = Awaited<ReturnType<typeof startFakeUpstream>>;

/** Rows as the upstream would send them, valid or not. */
export interface FakeListings {
  readonly chains?: readonly unknown[];
  readonly tokens?: readonly unknown[];
}

type Planned = 'chains' | 'tokens' | 'routes';

/** A timer records the time every BEAT_MS, and the last BEATS times are stored. */
const BEAT_MS = 20;
const BEATS = 5;

/** @param atEnd registers the function that closes it. It is not needed for a test gateway, which closes its upstream */
export async function startFakeUpstream(listings: FakeListings = {}, atEnd: AtEnd = () => {}) {
  const { chains, tokens } = listings;
  const seen: SeenRequest[] = [];
  const plans = new Map<string, Answer>([
    ['chains', chains ? json({ chains }) : (await demo()).chains],
    ['tokens', tokens ? json({ tokens }) : (await demo()).tokens],
  ]);
  const beats = [performance.now()];
  const beat = setInterval(() => {
    beats.push(performance.now());
    if (beats.length > BEATS) beats.shift();
  }, BEAT_MS).unref();
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    const path = new URL(url, 'http://fake').pathname.replace(/^\/v1\//, '');
    const at = performance.now();
    seen.push({ path, url, headers: request.headers, at, notBefore: beats[0] ?? at });
    const answer = (isForRoutes(url) && plans.get('routes')) || plans.get(path) || status(404);
    answer(response, request, seen.filter((other) => other.path === path).length);
  });
  // Never close idle connections: if this process was blocked, a request may have been sent on one of them.
  server.keepAliveTimeout = 0;
  const listen = (port: number) => once(server.listen(port, '127.0.0.1'), 'listening');
  const refuse = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  const close = async () => {
    clearInterval(beat);
    await refuse();
  };
  atEnd(close);
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const plan = (path: Planned, answer: Answer) => void plans.set(path, answer);
  return {
    /** Base address with a version segment, without a trailing slash. */
    url: `http://127.0.0.1:${port}/v1`,
    seen,
    count: (path?: string) => seen.filter((request) => path === undefined || request.path === path).length,
    routesAsked: (): readonly SeenRequest[] => seen.filter((request) => isForRoutes(request.url)),
    /** Sets how requests for a path are answered from now on. Without a plan, routes are answered like tokens. */
    plan,
    /** Plans an answer that the last request gets only when the returned function is called. */
    hold(path: Planned, answer: Answer): () => void {
      let release = () => {};
      plan(path, (...exchange) => {
        release = () => answer(...exchange);
      });
      return () => release();
    },
    planBoth: (answer: Answer) => void plans.set('chains', answer).set('tokens', answer),
    refuse,
    async accept() {
      if (!server.listening) await listen(port);
    },
    close,
  };
}

const isForRoutes = (url: string) => url.includes('srcToken=');

let demoAnswers: Promise<Record<'chains' | 'tokens', Answer>> | undefined;
/** The demo listings. Their file is read only if needed: compiled tests do not find it. */
function demo() {
  demoAnswers ??= import('../fixtures/demo.js').then(({ demoChains, demoTokens }) => ({
    chains: json({ chains: demoChains }),
    tokens: json({ tokens: demoTokens }),
  }));
  return demoAnswers;
}

/**
 * The largest number of requests that certainly arrived within one second, even if this process read them late. The
 * second is shortened by `slackMs`, because on a busy machine other processes can delay evenly sent requests.
 */
export function mostInASecond(seen: readonly SeenRequest[], slackMs = 100): number {
  let most = 0;
  let from = 0;
  // `seen` is in the order of arrival.
  for (const [index, { at }] of seen.entries()) {
    while ((seen[from]?.notBefore ?? at) <= at - 1000 + slackMs) from++;
    most = Math.max(most, index - from + 1);
  }
  return most;
}

type Headers = Readonly<Record<string, string | string[]>>;

export function json(value: unknown, headers?: Headers): Answer {
  return text(JSON.stringify(value), headers);
}

export function text(body: string | Buffer, headers: Headers = {}): Answer {
  const bytes = Buffer.from(body);
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(bytes);
  };
}

export function status(
  code: number,
  headers: Record<string, string> = {},
  body = '{"error":"secret-body"}',
): Answer {
  return (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

export const stall: Answer = () => {};

export const reset: Answer = (_response, request) => {
  request.socket.destroy();
};

export function late(ms: number, answer: Answer): Answer {
  return (response, request, nth) => {
    setTimeout(() => answer(response, request, nth), ms);
  };
}

export function first(times: number, answer: Answer, then: Answer): Answer {
  return (response, request, nth) => (nth <= times ? answer : then)(response, request, nth);
}

/** The times between the requests for the token listing, in milliseconds. */
export function gapsBetween({ seen }: FakeUpstream): readonly number[] {
  const at = seen.filter(({ path }) => path === 'tokens').map((request) => request.at);
  return at.slice(1).map((time, index) => time - (at[index] ?? 0));
}
