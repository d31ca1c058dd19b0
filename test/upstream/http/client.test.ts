/** Requests to the upstream are retried only after transient faults, within the rate limit, and end with the client. */
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import type { UpstreamError } from '../../../src/domain/upstream-error.js';
import {
  createUpstreamHttp,
  type UpstreamHttp,
  type UpstreamHttpOptions,
} from '../../../src/upstream/http/client.js';
import { createRateLimiter, type RateLimiter } from '../../../src/upstream/http/rate-limit.js';
import { headOf, readJson } from '../../../src/upstream/http/read-json.js';
import { stopClock } from '../../support/clock.js';
import {
  type Answer,
  first,
  gapsBetween,
  json,
  late,
  mostInASecond,
  reset,
  stall,
  startFakeUpstream,
  status,
  text,
} from '../../support/fake-upstream.js';
import { createTestLog, defaultConfig } from '../../support/test-gateway.js';

const GOOD = json({ tokens: [] });

/** A client of an upstream that answers like this. Its timeouts are long, and its rate limit is very high. */
async function askFor(answer: Answer, options: Partial<UpstreamHttpOptions> = {}) {
  const upstream = await startFakeUpstream({ chains: [], tokens: answer });
  const { upstreamRequestsPerSecond = 1000 } = options;
  const http = createUpstreamHttp({
    ...defaultConfig(),
    service: 'v1',
    baseUrl: upstream.url,
    upstreamTimeoutMs: 120_000,
    upstreamRequestsPerSecond,
    rateLimiter: createRateLimiter(upstreamRequestsPerSecond),
    maxRouteWaitMs: 120_000,
    upstreamMaxBytes: 1000,
    metrics: { upstreamRequest() {}, breaker() {} },
    log: (await createTestLog()).log,
    ...options,
  });
  onTestFinished(async () => {
    await http.close();
    await upstream.close();
  });
  return { upstream, http, getTokens: () => http.getJson({ path: 'tokens', lane: 'listings' }) };
}

async function faultOf(answer: Promise<unknown>): Promise<UpstreamError> {
  return answer.then(
    () => {
      throw new Error('Expected an error, got an answer');
    },
    (error: UpstreamError) => error,
  );
}

it.each(['', '/', '//'])('a request has one slash after a base that ends with "%s"', async (end) => {
  const fake = await startFakeUpstream({ tokens: [] }, onTestFinished);
  const { http } = await askFor(GOOD, { baseUrl: `${fake.url}${end}` });
  await http.getJson({
    path: 'tokens',
    query: { srcChainKey: 'a&b', srcToken: undefined },
    lane: 'listings',
  });
  expect(fake.seen.map(({ url }) => url)).toEqual(['/v1/tokens?srcChainKey=a%26b']);
});

it.each([
  [{ 'x-api-key': 'key' }, { 'x-api-key': 'key', accept: 'application/json' }],
  [{ Accept: 'application/vnd.x+json' }, { accept: 'application/vnd.x+json' }],
])('a request has the configured headers: %j', async (upstreamHeaders, sent) => {
  const { upstream, getTokens } = await askFor(GOOD, { upstreamHeaders });
  await getTokens();
  expect(upstream.seen[0]?.headers).toMatchObject(sent);
});

it.each<[string, Answer]>([
  ['a reset connection', reset],
  ['500', status(500)],
  ['503 with a longer word than "deprecated"', status(503, {}, 'undeprecatedly')],
  ['429', status(429)],
  [
    'a cut body',
    (response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': 99 })
        .write('{', () => response.destroy()),
  ],
])('a transient fault is retried: %s', async (_name, fault) => {
  const { upstream, getTokens } = await askFor(first(2, fault, GOOD));
  expect((await getTokens()).json).toEqual({ tokens: [] });
  expect(upstream.count()).toBe(3);
});

it('a stall before the headers and one in the body are retried, each after the timeout of an attempt', async () => {
  const stallInBody: Answer = (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).write('{');
  const { upstream, getTokens } = await askFor(first(1, stall, first(2, stallInBody, GOOD)), {
    // Long enough for the third attempt, also on a busy machine.
    upstreamTimeoutMs: 3_000,
  });
  expect((await getTokens()).json).toEqual({ tokens: [] });
  expect(upstream.count()).toBe(3);
});

it('a transient fault is retried up to the configured number of retries, with growing pauses', async () => {
  const { upstream, getTokens } = await askFor(status(503), { upstreamRetries: 2 });
  expect(await faultOf(getTokens())).toMatchObject({ code: 'UPSTREAM_STATUS', status: 503 });
  const [shorter, longer, ...more] = gapsBetween(upstream);
  expect(more).toEqual([]);
  expect(shorter).toBeGreaterThanOrEqual(95);
  expect(longer).toBeGreaterThanOrEqual(195);
});

it.each([
  ['only after Retry-After has passed', '1', 990],
  ['with the usual pauses if Retry-After is neither a number nor a date', 'wait until 2999', 95],
])('a transient fault is retried %s', async (_name, retryAfter, leastMs) => {
  const { upstream, getTokens } = await askFor(first(1, status(503, { 'retry-after': retryAfter }), GOOD));
  await getTokens();
  expect(upstream.count()).toBe(2);
  expect(gapsBetween(upstream)[0]).toBeGreaterThanOrEqual(leastMs);
});

it('a transient fault is not retried if Retry-After is long, which the error then says', async () => {
  const at = new Date(Date.now() + 3_600_000).toUTCString();
  const { upstream, getTokens } = await askFor(status(503, { 'retry-after': at }));
  const fault = await faultOf(getTokens());
  expect(fault.retryAfterMs).toBeGreaterThan(3_590_000);
  expect(upstream.count()).toBe(1);
});

const refused = { code: 'UPSTREAM_STATUS', retryAfterMs: undefined };
const malformed = { code: 'UPSTREAM_MALFORMED' };
/** The service counts as gone for a minute. */
const gone = (code: number) => ({
  code: 'UPSTREAM_GONE',
  status: code,
  retryAfterMs: 60_000,
  message: expect.stringContaining(`(HTTP ${code})`),
});
it.each<[string, Answer, object]>([
  ['404', status(404), refused],
  ['401', status(401), refused],
  ['204', (response) => response.writeHead(204).end(), refused],
  ['a redirect, which is not followed', status(301, { location: '/v1/chains' }, 'deprecated'), refused],
  ['another content type', text('{"tokens":[]}', { 'content-type': 'text/html' }), malformed],
  ['no content type', (response) => response.writeHead(200).end('{"tokens":[]}'), malformed],
  ['no JSON', text('{"tokens":'), malformed],
  ['too many bytes', text(JSON.stringify('x'.repeat(1000))), malformed],
  [
    'too many bytes, compressed',
    text(gzipSync(JSON.stringify('x'.repeat(1_000_000))), { 'content-encoding': 'gzip' }),
    malformed,
  ],
  ['an unsound compression', text('not gzip', { 'content-encoding': 'gzip' }), malformed],
  ['410', status(410, {}, '{"error":"Gone"}'), gone(410)],
  ['410 with a short Retry-After', status(410, { 'retry-after': '5' }), gone(410)],
  ['"deprecated" and 400', status(400, {}, 'This API is deprecated.'), gone(400)],
  ['"API_DEPRECATED" and 500', status(500, {}, '{"code":"API_DEPRECATED"}'), gone(500)],
  ['an error that is "deprecated"', json({ error: 'v1 is deprecated, use the successor' }), gone(200)],
  ['an error whose message is "DEPRECATED"', json({ error: { message: 'DEPRECATED' } }), gone(200)],
])('a permanent fault is not retried: %s', async (_name, answer, expected) => {
  const { upstream, getTokens } = await askFor(answer);
  const fault = await faultOf(getTokens());
  expect(fault).toMatchObject(expected);
  expect(fault.message).not.toMatch(/127\.0\.0\.1|secret/);
  expect(upstream.count()).toBe(1);
});

it.each([
  ...['application/json', 'application/json; charset=utf-8', 'Application/JSON', 'text/json'],
  'application/problem+json',
])('compressed content of type %s is accepted', async (type) => {
  const headers = { 'content-type': type, 'content-encoding': 'gzip' };
  const { getTokens } = await askFor(text(gzipSync('{"tokens":[]}'), headers));
  expect((await getTokens()).json).toEqual({ tokens: [] });
});

it('the age of an answer counts from the time when its request was sent', async () => {
  const { getTokens } = await askFor(late(50, GOOD));
  const before = Date.now();
  const { sentAt } = await getTokens();
  expect(sentAt).toBeGreaterThanOrEqual(before);
  expect(Date.now() - sentAt).toBeGreaterThanOrEqual(45);
});

const YEAR = 365 * 86_400;
it.each<[age: string | string[], seconds: number]>([
  ['7200', 7200],
  ['0', 0],
  // RFC 9111: the first of several values counts, and an invalid one is ignored.
  ['60, 7200', 60],
  [['60', '7200'], 60],
  ['-60', 0],
  ['1e3', 0],
  ['60 s', 0],
  ['soon', 0],
  ['', 0],
  // Bounded, so that the time of an answer is a valid date.
  ['315360000', YEAR],
  ['9'.repeat(1_000), YEAR],
])('the age of an answer with an Age of %j is %d seconds more', async (age, seconds) => {
  const { getTokens } = await askFor(json({ tokens: [] }, { age }));
  expect((await getTokens()).ageMs).toBe(seconds * 1000);
});

it('the rate limiter never exceeds its limit in a second, even with retries and bursts', async () => {
  const answer = first(3, status(503), GOOD);
  const { upstream, getTokens } = await askFor(answer, { upstreamRequestsPerSecond: 3 });
  await Promise.all(Array.from({ length: 6 }, getTokens));
  expect(upstream.count()).toBe(9);
  expect(mostInASecond(upstream.seen, 300)).toBeLessThanOrEqual(3);
});

it('the rate limiter counts requests before the first answer as sent at the time of that answer, because the start delays them', () => {
  const clock = stopClock();
  const limiter = createRateLimiter(2);
  const acquire = () => Math.round(limiter.acquire());
  expect([acquire(), acquire()]).toEqual([0, 0]);
  clock.advance(400);
  limiter.answered();
  expect(acquire()).toBe(1_050);
  clock.advance(1_050);
  expect(acquire()).toBe(0);
  clock.advance(50);
  limiter.answered();
  expect([acquire(), acquire()]).toEqual([0, 1_000]);
});

const askIn = (http: UpstreamHttp) => (srcToken?: string) =>
  http.getJson({ path: 'tokens', query: { srcToken }, lane: srcToken ? 'routes' : 'listings' });

it('the rate limiter sends a waiting route after each listing, and a listing after each route', async () => {
  // With a stopped clock, a permit that is reserved for a route does not expire.
  stopClock();
  let free = 0;
  const rateLimiter: RateLimiter = { acquire: () => (free-- > 0 ? 0 : 5), pause() {} };
  const { upstream, http } = await askFor(GOOD, { rateLimiter });
  const answers = Promise.all(['a', 'b', undefined, undefined, undefined, undefined].map(askIn(http)));
  for (let sent = 1; sent <= 6; sent++) {
    free = 1;
    await expect.poll(() => upstream.count(), { interval: 5 }).toBe(sent);
  }
  await answers;
  const sent = ['', '?srcToken=a', '', '?srcToken=b', '', ''];
  expect(upstream.seen.map(({ url }) => url)).toEqual(sent.map((search) => `/v1/tokens${search}`));
});

it('the rate limiter refuses routes that could not be sent in time, wherever they are in the queue', async () => {
  const rateLimiter: RateLimiter = { acquire: () => 10_000, pause() {} };
  const { upstream, http } = await askFor(GOOD, { rateLimiter, maxRouteWaitMs: 100 });
  const answers = ['a', 'b'].map(askIn(http)).map(faultOf);
  const message =
    'The requests to the upstream are limited, and this one could not be sent within 0.1 s. Try again in half a minute.';
  for (const fault of await Promise.all(answers)) {
    expect(fault).toMatchObject({ code: 'UPSTREAM_RATE_LIMITED', message, notSent: true });
  }
  expect(upstream.count()).toBe(0);
});

it('the rate limiter refuses routes at once when more wait than could be sent in time', async () => {
  const clock = stopClock();
  const { http, upstream } = await askFor(GOOD, { upstreamRequestsPerSecond: 1, maxRouteWaitMs: 30_000 });
  const ask = (nth: number) => askIn(http)(`${nth}`).catch(({ code }) => code);
  const answers = Array.from({ length: 40 }, (_, nth) => ask(nth));
  const chains = http.getJson({ path: 'chains', lane: 'listings' });
  await answers[0];
  clock.advance(1_050);
  await chains;
  await http.close();
  const codes = await Promise.all(answers);
  expect(codes.filter((code) => code === 'UPSTREAM_RATE_LIMITED')).toHaveLength(9);
  expect(upstream.count()).toBe(2);
});

it('closing ends requests in progress, queued requests and requests that wait for a retry', async () => {
  // With a stopped clock, the second request is not sent before the first one arrives.
  stopClock();
  const { http, upstream, getTokens } = await askFor(stall, {
    upstreamRequestsPerSecond: 1,
    upstreamTimeoutMs: 10_000,
  });
  const answers = [getTokens(), getTokens()].map(faultOf);
  await expect.poll(() => upstream.count()).toBe(1);
  await http.close();
  for (const fault of await Promise.all(answers)) expect(fault.code).toBe('UPSTREAM_UNREACHABLE');
  expect(await faultOf(getTokens())).toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
  expect(upstream.count()).toBe(1);
});

it('closing ends a Retry-After pause', async () => {
  const { http, upstream, getTokens } = await askFor(status(429, { 'retry-after': '9' }));
  const answer = faultOf(getTokens());
  await expect.poll(() => upstream.count()).toBe(1);
  await http.close();
  expect(await answer).toMatchObject({ code: 'UPSTREAM_UNREACHABLE' });
});

async function read(text: string | Buffer, length = 60_000) {
  const bytes = Buffer.from(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
  }
  const headers = { get: (name: string) => (name === 'content-type' ? 'application/json' : null) };
  return readJson({ headers, body: pieces() }, 'http://upstream', 2 ** 25);
}

it('an answer in JSON gives the same result however its bytes are split', async () => {
  const value = { 'a "name", [odd] {too} \\': ['é\ud83d\ude00', '\\', '"', null], tokens: [{ a: 1 }, {}] };
  const text = JSON.stringify(value);
  for (const length of [1, 3, 7, 1_000]) {
    expect(await read(text, length)).toEqual({ json: value, bytes: Buffer.byteLength(text) });
  }
});

it.each(['', '{"tokens":[1,]}', '{"a":1}{', Buffer.from([0x22, 0xff, 0x22])])(
  'an answer in JSON is refused if JSON.parse refuses it: %j',
  async (text) => {
    await expect(read(text, 2)).rejects.toThrow('expected JSON in UTF-8');
  },
);

it('an answer in JSON may have any number of brackets and commas in its strings', async () => {
  const text = JSON.stringify(['{[,:"\\'.repeat(1_000_000)]);
  expect((await read(text)).bytes).toBe(text.length);
});

it('the beginning of an error page ends with a whole word, also if the page arrives in parts', async () => {
  async function* parts() {
    yield Buffer.from(`${'a'.repeat(490)} sec`);
    yield Buffer.from('ret-key and more');
  }
  expect(await headOf({ headers: new Headers(), body: parts() })).toBe(`${'a'.repeat(490)} …`);
});
