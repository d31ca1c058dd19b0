/** The library tells clients apart by the address that the host passes on or that trusted proxies write. */
import { describe, expect, it } from 'vitest';
import type { OpenedGateway, OpenGatewayOptions } from '../../src/library/index.js';
import { open, post, startAround } from '../support/open-gateway.js';
import { sendHttp } from '../support/send-http.js';

const BURST = 30;
/** The window of this limit is half a minute, so that even a slow machine exceeds the limit within the window. */
const LIMITED: OpenGatewayOptions = { rateLimit: `1/${BURST}` };
const query = (nth: number) => `{ chain(chainKey: "key${nth}") { name } }`;

type Ask = (nth: number, client: string | undefined, forwardedFor?: string) => Promise<number>;

const byFetch =
  ({ fetch }: OpenedGateway): Ask =>
  async (nth, client, forwardedFor) => {
    const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
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

async function useUp(ask: Ask, client: string | undefined, forwardedFor?: string): Promise<void> {
  const statuses = Array.from({ length: BURST }, (_, nth) => ask(nth, client, forwardedFor));
  for (const status of await Promise.all(statuses)) expect(status).toBe(200);
}

it('rateLimit as a number also limits operations that are sent at once', async () => {
  const { fetch } = await open({ rateLimit: 1 });
  const statuses = Array.from({ length: 50 }, async (_, nth) => (await fetch(post(query(nth)))).status);
  expect(await Promise.all(statuses)).toContain(429);
});

it('rateLimit counts an IPv6 network as one client, and any other client by its exact text', async () => {
  const ask = byFetch(await open(LIMITED));
  await useUp(ask, '2001:db8::1');
  expect(await ask(90, '2001:db8::2')).toBe(429);
  expect(await ask(91, 'user 1')).toBe(200);
});

it('rateLimit counts all requests without a client as one, and warns once', async () => {
  const gateway = await open(LIMITED);
  const ask = byFetch(gateway);
  await useUp(ask, undefined);
  for (const nth of [90, 91]) expect(await ask(nth, undefined, '192.0.2.1')).toBe(429);
  expect(gateway.lines.filter((line) => line.includes('fetch(request, { client })'))).toHaveLength(1);
  expect(await gateway.metrics()).toContain('gateway_rate_limited_clients 1');
});

describe.each<[string, (gateway: OpenedGateway) => Ask | Promise<Ask>]>([
  ['fetch', byFetch],
  ['the handler', byHandler],
])('clients of %s', (_name, asking) => {
  it('clients behind trusted proxies are told apart by X-Forwarded-For', async () => {
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

  it('clients without trusted proxies are the addresses of connections; the log says once what to set', async () => {
    const gateway = await open({ ...LIMITED, trustedProxies: [] });
    const ask = await asking(gateway);
    await useUp(ask, '127.0.0.1', '192.0.2.1');
    for (const nth of [90, 91]) expect(await ask(nth, '127.0.0.1', `192.0.2.${nth}`)).toBe(429);
    expect(await ask(92, '127.0.0.2', '192.0.2.1')).toBe(200);
    expect(gateway.lines.filter((line) => line.includes('set TRUSTED_PROXIES'))).toHaveLength(1);
  });
});
