/** Real HTTP servers like both services, which count requests, and whose answers and faults a test plans. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { successorChain, successorToken } from '../fixtures/rows.js';
import type { AtEnd } from './ends.js';

/** Responds to a request, or returns the answer that does. `nth` counts the requests for that path from 1. */
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

export type FakeListings = { readonly chains?: readonly unknown[]; readonly tokens?: readonly unknown[] };

/** The rows of each listing, or the answers to requests for them and for routes. */
export interface FakeAnswers {
  readonly chains?: readonly unknown[] | Answer;
  readonly tokens?: readonly unknown[] | Answer;
  readonly routes?: Answer;
}

/** A timer records the time every BEAT_MS, and the last BEATS times are stored. */
const BEAT_MS = 20;
const BEATS = 5;

/** @param atEnd registers the function that closes it. It is not needed for a test gateway, which closes its upstream */
export async function startFakeUpstream(answers: FakeAnswers = {}, atEnd: AtEnd = () => {}) {
  const { chains = DEMO_CHAINS, tokens = DEMO_TOKENS, routes } = answers;
  const seen: SeenRequest[] = [];
  const plans = new Map<string, Answer>([
    ['chains', typeof chains === 'function' ? chains : json({ chains })],
    ['tokens', typeof tokens === 'function' ? tokens : json({ tokens })],
  ]);
  if (routes) plans.set('routes', routes);
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
    respond(answer, response, request, seen.filter((other) => other.path === path).length);
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
  const plan = (path: keyof FakeAnswers, answer: Answer) => void plans.set(path, answer);
  return {
    /** Base address with a version segment, without a trailing slash. */
    url: `http://127.0.0.1:${port}/v1`,
    seen,
    count: (path?: string) => seen.filter((request) => path === undefined || request.path === path).length,
    routesAsked: (): readonly SeenRequest[] => seen.filter((request) => isForRoutes(request.url)),
    /** Sets how requests for a path are answered from now on. Without a plan, routes are answered like tokens. */
    plan,
    /** Plans an answer that the last request gets only when the returned function is called. */
    hold(path: keyof FakeAnswers, answer: Answer): () => void {
      let release = () => {};
      plan(path, (...exchange) => {
        release = () => void respond(answer, ...exchange);
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

async function respond(answer: Answer, ...exchange: Parameters<Answer>): Promise<void> {
  const other: unknown = await (answer(...exchange) as unknown);
  if (typeof other === 'function') await respond(other as Answer, ...exchange);
}

const isForRoutes = (url: string) => url.includes('srcToken=');

const DEMO_CHAINS = json({ chains: demoChains });
const DEMO_TOKENS = json({ tokens: demoTokens });

export const NEXT_TOKEN = 'pagination[nextToken]';

/** A server like the value-transfer service, whose rows have another form and come in pages: by default in one. */
export async function startFakeSuccessor(listings: FakeListings & { readonly pageSize?: number } = {}) {
  const { pageSize, chains, tokens } = listings;
  return startFakeUpstream({
    chains: paged('chains', chains ?? demoChains.map(successorChain), pageSize),
    tokens: paged('tokens', tokens ?? demoTokens.map(successorToken), pageSize),
  });
}

export function paged(name: 'chains' | 'tokens', rows: readonly unknown[], pageSize = rows.length): Answer {
  return (_response, { url }) => {
    const from = Number(/^from (\d+)\/$/.exec(pageTokenOf(url) ?? '')?.[1] ?? 0);
    const to = from + pageSize;
    // The space and the slash have a meaning in URLs. A real `nextToken` can contain such characters, too.
    const pagination = to < rows.length ? { nextToken: `from ${to}/` } : {};
    return json({ [name]: rows.slice(from, to), pagination });
  };
}

/** The token of the requested page; null for the first page. */
export function pageTokenOf(url: string | undefined): string | null {
  return new URL(url ?? '', 'http://fake').searchParams.get(NEXT_TOKEN);
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

export function status(code: number, headers: Headers = {}, body = '{"error":"secret-body"}'): Answer {
  return (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

export const stall: Answer = () => {};

export const reset: Answer = (_response, request) => {
  request.socket.destroy();
};

export const late =
  (ms: number, answer: Answer): Answer =>
  () =>
    sleep(ms, answer);

export const first =
  (times: number, answer: Answer, then: Answer): Answer =>
  (_response, _request, nth) =>
    nth <= times ? answer : then;

/** The times between the requests for the token listing, in milliseconds. */
export function gapsBetween({ seen }: FakeUpstream): readonly number[] {
  const at = seen.filter(({ path }) => path === 'tokens').map((request) => request.at);
  return at.slice(1).map((time, index) => time - (at[index] ?? 0));
}
