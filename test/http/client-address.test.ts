/** A client is its address, or its network of IPv6, as the last trusted proxy has written it. */
import { expect, it } from 'vitest';
import { clientOf, createClientFinder } from '../../src/http/client-address.js';

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:C000:0201', '192.0.2.1'],
  ['::ffff:c000:201%eth0', '192.0.2.1'],
  ['::ffff:1', '0:0:0:0::/64'],
  ['2001:DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1234:5678%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['', ''],
  ['192.0.2.1:80', '192.0.2.1:80'],
  [undefined, ''],
])('a client at %s is %s', (remoteAddress, client) => {
  expect(clientOf(remoteAddress)).toBe(client);
});

const find = createClientFinder(['10.0.0.0/8', 'loopback', 'fd00::/8']);

it.each([
  ['no header', undefined, '127.0.0.1'],
  ['an address', '192.0.2.7', '192.0.2.7'],
  ['an address that the client wrote before its own', '198.51.100.1, 192.0.2.7', '192.0.2.7'],
  ['trusted proxies in a row', '198.51.100.1, 192.0.2.7, 10.1.2.3,127.0.0.5', '192.0.2.7'],
  ['several headers', ['198.51.100.1', '192.0.2.7', '10.0.0.1'], '192.0.2.7'],
  ['trusted proxies alone', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
  ['a port', '192.0.2.7:51234', '192.0.2.7'],
  ['a port of a trusted proxy', '192.0.2.7:51234, 10.0.0.8:443', '192.0.2.7'],
  ['IPv6 with a port', '[2001:db8:0:7::1]:443', '2001:db8:0:7::/64'],
  ['IPv6 in brackets', '[2001:db8:0:7::1]', '2001:db8:0:7::/64'],
  ['a trusted IPv4 in IPv6, in hex', '192.0.2.7, ::ffff:a00:1', '192.0.2.7'],
  ['tabs', '198.51.100.1,\t192.0.2.7\t,\t10.0.0.1', '192.0.2.7'],
  ['nothing', '', '127.0.0.1'],
  ['a word', 'unknown', '127.0.0.1'],
  ['a word behind a trusted proxy', '192.0.2.7, unknown, 10.0.0.8', '10.0.0.8'],
  ['a network', '192.0.2.0/24', '127.0.0.1'],
  ['a short form of an address', '10.1', '127.0.0.1'],
  ['an octal number', '192.0.2.07', '127.0.0.1'],
  ['brackets', '[[]:]:1', '127.0.0.1'],
  ['one long text', 'x'.repeat(12_000), '127.0.0.1'],
  ['thousands of entries', `${'1.1.1.1,'.repeat(1_400)}192.0.2.7`, '192.0.2.7'],
  ['thousands of trusted entries', `192.0.2.7${',10.0.0.1'.repeat(1_300)}`, '10.0.0.1'],
  ['an address that is cut', `192.0.2.123${','.padEnd(995)},10.0.0.1`, '10.0.0.1'],
])('the client behind a trusted proxy is found with %s', (_name, forwarded, client) => {
  expect(find('127.0.0.1', forwarded)).toBe(client);
});

it('the client is that of the connection if its address is not trusted, or if no proxy is trusted', () => {
  expect(find('192.0.2.1', '192.0.2.7')).toBe('192.0.2.1');
  expect(find(undefined, '192.0.2.7')).toBe('');
  expect(createClientFinder([])('127.0.0.1', '192.0.2.7')).toBe('127.0.0.1');
});
