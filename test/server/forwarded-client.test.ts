import { describe, expect, it, onTestFinished } from 'vitest';
import { createGatewayServer } from '../../src/server/server.js';
import { sendHttp } from '../support/send-http.js';
import { createTestLog } from '../support/test-gateway.js';

/** Starts a server whose gateway records the client of each request. */
async function startNoting(trustedProxies: readonly string[]) {
  const clients: (string | undefined)[] = [];
  const { log } = await createTestLog();
  const note = (client: string | undefined) => {
    clients.push(client);
    return new Response('{}', { headers: { 'content-type': 'application/json' } });
  };
  const server = createGatewayServer({
    gateway: {
      path: '/graphql',
      isOperation: () => true,
      corsOrigins: '*',
      load: () => Promise.resolve(),
      respond: async (_request, { client }) => ({ response: note(client) }),
    },
    checkDependencies: () => undefined,
    trustedProxies,
    maxBodyBytes: 1_000,
    maxQueryTokens: 100,
    log,
  });
  const address = await server.listen('127.0.0.1', 0);
  onTestFinished(() => server.drain(0, 100));

  /** Sends a request on a new connection from this address. Returns the client that the gateway sees. */
  async function clientOf(forwarded: string | string[] | undefined, localAddress = '127.0.0.1') {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    const { status } = await sendHttp(`${address}/graphql?query={a}`, {
      headers,
      localAddress,
      agent: false,
    });
    return status === 200 ? clients.at(-1) : status;
  }
  return clientOf;
}

describe('the client of a request', () => {
  it.each([
    ['none', undefined, '127.0.0.1'],
    ['an address', '192.0.2.7', '192.0.2.7'],
    ['what the client wrote before its own address', '198.51.100.1, 192.0.2.7', '192.0.2.7'],
    ['trusted proxies in a row', '198.51.100.1, 192.0.2.7, 10.1.2.3,127.0.0.5', '192.0.2.7'],
    ['several headers', ['198.51.100.1', '192.0.2.7', '10.0.0.1'], '192.0.2.7'],
    ['trusted proxies alone', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
    ['a port', '192.0.2.7:51234', '192.0.2.7'],
    ['a port of a trusted proxy', '192.0.2.7:51234, 10.0.0.8:443', '192.0.2.7'],
    ['IPv6', '2001:DB8:0:7:1:2:3:4', '2001:db8:0:7::/64'],
    ['IPv6 of the same network', '2001:db8:0000:0007::9', '2001:db8:0:7::/64'],
    ['IPv6 with a port', '[2001:db8:0:7::1]:443', '2001:db8:0:7::/64'],
    ['IPv6 in brackets', '[2001:db8:0:7::1]', '2001:db8:0:7::/64'],
    ['IPv4 in IPv6', '::ffff:192.0.2.7', '192.0.2.7'],
    ['IPv4 in IPv6, in hex', '::ffff:c000:207', '192.0.2.7'],
    ['IPv4 in IPv6, with all its zeros', '0:0:0:0:0:FFFF:C000:0207', '192.0.2.7'],
    ['IPv4 in IPv6, with a port', '[::ffff:c000:207]:443', '192.0.2.7'],
    ['a trusted IPv4 in IPv6, in hex', '192.0.2.7, ::ffff:a00:1', '192.0.2.7'],
    ['a trusted IPv4 in IPv6', '192.0.2.7, ::ffff:10.0.0.1', '192.0.2.7'],
    ['nothing', '', '127.0.0.1'],
    ['commas', ',, ,', '127.0.0.1'],
    ['a word', 'unknown', '127.0.0.1'],
    ['a word behind a trusted proxy', '192.0.2.7, unknown, 10.0.0.8', '10.0.0.8'],
    ['a network', '192.0.2.0/24', '127.0.0.1'],
    ['a short form of an address', '10.1', '127.0.0.1'],
    ['an octal number', '192.0.2.07', '127.0.0.1'],
    ['too many groups', '1:2:3:4:5:6:7:8:9', '127.0.0.1'],
    ['brackets', '[[]:]:1', '127.0.0.1'],
    ['one long text', 'x'.repeat(12_000), '127.0.0.1'],
    ['thousands of commas', ','.repeat(12_000), '127.0.0.1'],
    ['thousands of entries', `${'1.1.1.1,'.repeat(1_400)}192.0.2.7`, '192.0.2.7'],
    ['thousands of trusted entries', `192.0.2.7${',10.0.0.1'.repeat(1_300)}`, '10.0.0.1'],
    ['an address that is cut', `192.0.2.123${','.padEnd(995)},10.0.0.1`, '10.0.0.1'],
  ])('behind a trusted proxy, with %s', async (_name, forwarded, client) => {
    const clientOf = await startNoting(['10.0.0.0/8', 'loopback']);
    expect(await clientOf(forwarded)).toBe(client);
  });

  it('is the connection if its address is not trusted, or if no proxy is trusted', async () => {
    const some = await startNoting(['10.0.0.0/8', '127.0.0.9', 'fd00::/8']);
    expect(await some('192.0.2.7')).toBe('127.0.0.1');
    expect(await some('192.0.2.7', '127.0.0.9')).toBe('192.0.2.7');
    const none = await startNoting([]);
    expect(await none('192.0.2.7')).toBe('127.0.0.1');
  });
});
