import { describe, expect, it } from 'vitest';
import { clientOf } from '../../src/http/client-address.js';

describe('a client', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:0:1::', '2001:db8:0:1::/64'],
    ['2001:db8:1:0:1::', '2001:db8:1:0::/64'],
    ['1::3:4:5:6:7', '1:0:0:3::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1234:5678%eth0', 'fe80:0:0:0::/64'],
    ['::ffff:0:1.2.3.4', '0:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['', ''],
    [undefined, ''],
  ])('%s is %s', (remoteAddress, client) => {
    expect(clientOf(remoteAddress)).toBe(client);
  });

  it('has one name for its whole /64, and another than its neighbours', () => {
    const clients = ['::1', '::2', ':a:b:c:d'].map((host) => clientOf(`2001:db8:0:7${host}`));
    expect(new Set(clients).size).toBe(1);
    expect(clientOf('2001:db8:0:8::1')).not.toBe(clients[0]);
  });
});
