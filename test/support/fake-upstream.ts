import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Answers one request to the fake upstream; `nth` counts the requests for that path from 1. */
export type Answer = (response: ServerResponse, request: IncomingMessage, nth: number) => void;

/** A request that came to the fake upstream. */
export interface SeenRequest {
  readonly path: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  /** Milliseconds, on the clock of `performance`. */
  readonly at: number;
  /** It may have come at any time from here: where this process was held up, it is taken up only after that. */
  readonly notBefore: number;
}

export interface FakeUpstream {
  /** Base address with a version segment, without a trailing slash. */
  readonly url: string;
  /** Every request so far. */
  readonly seen: SeenRequest[];
  /** How many requests came, in all or for one path. */
  count(path?: string): number;
  /** The written plan: how requests for a path are answered from now on. */
  plan(path: 'chains' | 'tokens', answer: Answer): void;
  /** Ends all connections and refuses new ones: nobody listens on the port until {@link FakeUpstream.accept}. */
  refuse(): Promise<void>;
  /** Listens again, on the same port; does nothing where it does already. */
  accept(): Promise<void>;
  close(): Promise<void>;
}

/** Rows as the upstream would send them, of whatever form. */
export interface FakeListings {
  readonly chains?: readonly unknown[];
  readonly tokens?: readonly unknown[];
}

/** How often it is noted that the event loop goes round, and how many of its rounds a request takes at most. */
const BEAT_MS = 20;
const BEATS = 5;

/** A real HTTP server in the form of the v1 service that counts requests and fails by a written plan. */
export async function startFakeUpstream(listings: FakeListings = {}): Promise<FakeUpstream> {
  // Read only where it is wanted: compiled tests stand elsewhere than their sources, and the demo beside those.
  const { chains = (await demo()).demoChains, tokens = (await demo()).demoTokens } = listings;
  const seen: SeenRequest[] = [];
  const plans = new Map<string, Answer>([
    ['chains', json({ chains })],
    ['tokens', json({ tokens })],
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
    const answer = plans.get(path) ?? status(404);
    answer(response, request, seen.filter((other) => other.path === path).length);
  });
  // It closes no idle connection by itself: where this process was held up, a request may just have been sent on it.
  server.keepAliveTimeout = 0;
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  const close = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    seen,
    count: (path) => seen.filter((request) => path === undefined || request.path === path).length,
    plan: (path, answer) => plans.set(path, answer),
    refuse: close,
    async accept() {
      if (!server.listening) await listen(port);
    },
    async close() {
      clearInterval(beat);
      await close();
    },
  };
}

const demo = () => import('../fixtures/demo.js');

/**
 * The most requests that surely came in any second, wherever it begins; less some slack in milliseconds, since on a
 * busy machine other processes may hold up what was sent evenly. What this process itself held up is allowed for.
 */
export function mostInASecond(seen: readonly SeenRequest[], slackMs = 100): number {
  let most = 0;
  let from = 0;
  // They are in the order in which they came.
  for (const [index, { at }] of seen.entries()) {
    while ((seen[from]?.notBefore ?? at) <= at - 1000 + slackMs) from++;
    most = Math.max(most, index - from + 1);
  }
  return most;
}

type Headers = Readonly<Record<string, string | string[]>>;

/** Answers 200 with this value as JSON, such as with `{ age: '60' }` among the headers. */
export function json(value: unknown, headers?: Headers): Answer {
  return text(JSON.stringify(value), headers);
}

/** Answers 200 with this body. */
export function text(body: string | Buffer, headers: Headers = {}): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

/** Answers with this status. */
export function status(
  code: number,
  headers: Record<string, string> = {},
  body = '{"error":"secret-body"}',
): Answer {
  return (response) => {
    response.writeHead(code, { 'content-type': 'application/json', ...headers }).end(body);
  };
}

/** Never answers. */
export const stall: Answer = () => {};

/** Breaks the connection off without an answer. */
export const reset: Answer = (_response, request) => {
  request.socket.destroy();
};

/** Answers after a while. */
export function late(ms: number, answer: Answer): Answer {
  return (response, request, nth) => {
    setTimeout(() => answer(response, request, nth), ms);
  };
}

/** Answers the first requests in one way and the rest in another. */
export function first(times: number, answer: Answer, then: Answer): Answer {
  return (response, request, nth) => (nth <= times ? answer : then)(response, request, nth);
}
