import { describe, expect, it } from 'vitest';
import type { OpenedGateway, OpenGatewayOptions } from '../../src/library/index.js';
import { AT, open, post, startAround } from '../support/open-gateway.js';
import { sendHttp } from '../support/send-http.js';

const BURST = 30;
/** The window of this limit is half a minute, so that even a slow machine exceeds the limit within the window. */
const LIMITED: OpenGatewayOptions = { rateLimit: { perSecond: 1, burst: BURST } };
const query = (nth: number) => `{ chain(chainKey: "key${nth}") { name } }`;
const refusal = { errors: [{ extensions: { code: 'RATE_LIMITED' } }] };

/** Sends a request as a client with this address. Returns the status. */
type Ask = (nth: number, client: string | undefined, forwardedFor?: string) => Promise<number>;

const byFetch =
  ({ fetch }: OpenedGateway): Ask =>
  async (nth, client, forwardedFor) => {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (forwardedFor !== undefined) headers['x-forwarded-for'] = forwardedFor;
    return (await fetch(post(query(nth), { headers }), { client })).status;
  };

/** Sends requests to a server on this machine. Each client has another loopback address. */
async function byHandler({ handler }: OpenedGateway): Promise<Ask> {
  const address = await startAround(handler);
  return async (nth, localAddress = '127.0.0.1', forwardedFor) => {
    const url = `${address}/api/graphql?query=${encodeURIComponent(query(nth))}`;
    const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
    return (await sendHttp(url, { headers, localAddress, agent: false })).status;
  };
}

/** Sends as many operations as the limit allows, all different. */
async function useUp(ask: Ask, client: string | undefined, forwardedFor?: string): Promise<void> {
  const statuses = Array.from({ length: BURST }, (_, nth) => ask(nth, client, forwardedFor));
  for (const status of await Promise.all(statuses)) expect(status).toBe(200);
}

describe('rateLimit', () => {
  it.each([
    ['an object', LIMITED],
    ['a text', { ...LIMITED, rateLimit: `1/${BURST}` }],
  ])('as %s refuses further operations that are not cached', async (_form, options) => {
    const gateway = await open(options);
    const { fetch } = gateway;
    const me = { client: '192.0.2.1' };
    const cached = '{ chains { name } }';
    for (let times = 0; times < 2 * BURST; times++) expect((await fetch(post(cached), me)).status).toBe(200);
    for (let nth = 2; nth < BURST; nth++) expect((await fetch(post(query(nth)), me)).status).toBe(200);
    const refused = await fetch(post(query(BURST)), me);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject(refusal);
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(BURST);
    expect(refused.headers.get('ratelimit')).toBe(`"operations";r=0;t=${seconds}`);
    expect(refused.headers.get('ratelimit-policy')).toBe(`"operations";q=${BURST};w=${BURST}`);
    expect((await fetch(post(cached), me)).status).toBe(200);
    expect((await fetch(new Request(AT, { headers: { accept: 'text/html' } }), me)).status).toBe(200);
    expect((await fetch(post(query(0)), { client: '192.0.2.2' })).status).toBe(200);
  });

  it('as a number also limits how many run at once', async () => {
    const { fetch } = await open({ ...LIMITED, rateLimit: 1 });
    const statuses = Array.from({ length: 50 }, async (_, nth) => (await fetch(post(query(nth)))).status);
    expect(await Promise.all(statuses)).toContain(429);
  });

  it('counts an IPv6 network as one client, and other texts literally', async () => {
    const ask = byFetch(await open(LIMITED));
    await useUp(ask, '2001:db8::1');
    expect(await ask(90, '2001:db8::2')).toBe(429);
    expect(await ask(91, 'user 1')).toBe(200);
  });

  it('counts all requests without a client as one, and warns once', async () => {
    const gateway = await open(LIMITED);
    const ask = byFetch(gateway);
    await useUp(ask, undefined);
    for (const nth of [90, 91]) expect(await ask(nth, undefined, '192.0.2.1')).toBe(429);
    const warnings = gateway.lines.filter((line) => line.includes('fetch(request, { client })'));
    expect(warnings).toHaveLength(1);
    const metrics = await gateway.metrics();
    expect(metrics).toContain('gateway_rate_limited_operations_total{client="unknown"} 2');
    expect(metrics).toContain('gateway_rate_limited_clients 1');
  });
});

describe.each<[string, (gateway: OpenedGateway) => Ask | Promise<Ask>]>([
  ['fetch', byFetch],
  ['the handler', byHandler],
])('clients of %s', (_name, asking) => {
  it('behind trusted proxies are the addresses in X-Forwarded-For', async () => {
    const gateway = await open({ ...LIMITED, trustedProxies: ['127.0.0.1', '10.0.0.0/8'] });
    const ask = await asking(gateway);
    await useUp(ask, '127.0.0.1', '192.0.2.1');
    expect(await ask(90, '127.0.0.1', '198.51.100.1, 192.0.2.1, 10.0.0.9')).toBe(429);
    expect(await ask(91, '127.0.0.1', '192.0.2.2')).toBe(200);
    // This address is not a trusted proxy, so its header is ignored.
    await useUp(ask, '127.0.0.2', '192.0.2.3');
    expect(await ask(92, '127.0.0.2', '192.0.2.4')).toBe(429);
    expect(await ask(93, '127.0.0.1', '192.0.2.3')).toBe(200);
    expect(gateway.lines.join('')).toContain('"client":"192.0.2.1"');
  });

  it('are the addresses of connections without trusted proxies, and the log says once what to set', async () => {
    const gateway = await open({ ...LIMITED, trustedProxies: [] });
    const ask = await asking(gateway);
    await useUp(ask, '127.0.0.1', '192.0.2.1');
    for (const nth of [90, 91]) expect(await ask(nth, '127.0.0.1', `192.0.2.${nth}`)).toBe(429);
    expect(await ask(92, '127.0.0.2', '192.0.2.1')).toBe(200);
    expect(gateway.lines.filter((line) => line.includes('set TRUSTED_PROXIES'))).toHaveLength(1);
  });
});

describe('an option', () => {
  it.each<[string, object, RegExp]>([
    [
      'rateLimit with fewer at once than a second',
      { rateLimit: { perSecond: 3, burst: 2 } },
      /rateLimit: expected a whole number of operations a second .*, got "3\/2"/,
    ],
    [
      'rateLimit of another form',
      { rateLimit: { perMinute: 3 } },
      /rateLimit: .*, got "{\\"perMinute\\":3}"/,
    ],
    ['trustedProxies', { trustedProxies: ['10.0.0.0/8', 'x'] }, /trustedProxies: .*, got "10.0.0.0\/8,x"/],
  ])('%s is refused', async (_name, options, message) => {
    await expect(open(options as OpenGatewayOptions)).rejects.toThrow(message);
  });
});
