import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { startGatewayProcess } from '../support/gateway-process.js';
import { openRaw } from '../support/raw-http.js';

describe('ADMIN_PORT', () => {
  it('takes /metrics from the public port, answers probes on both, and closes last', async () => {
    const { address, child, output, exited } = await startGatewayProcess({ ADMIN_PORT: '0' });
    const [, admin = ''] = /"adminAddress":"([^"]+)"/.exec(output()) ?? [];
    const statusOf = async (url: string, method = 'GET') => (await fetch(url, { method })).status;
    await expect.poll(() => statusOf(`${admin}/ready`)).toBe(200);
    expect(await statusOf(`${address}/metrics`)).toBe(404);
    expect(await statusOf(`${address}/live`)).toBe(200);
    expect(await statusOf(`${address}/ready`)).toBe(200);
    expect(await (await fetch(`${admin}/metrics`)).text()).toContain('gateway_requests_total');
    expect(await statusOf(`${admin}/live`, 'HEAD')).toBe(200);
    expect(await statusOf(`${admin}/metrics`, 'POST')).toBe(405);
    for (const path of ['/', '/graphql', '/live/', '//metrics'])
      expect(await statusOf(admin + path)).toBe(404);

    // A request that is never finished keeps the public port busy, and the admin port answers.
    const busy = await openRaw(address);
    await busy.send('POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n');
    child.kill('SIGTERM');
    await expect
      .poll(() =>
        fetch(`${address}/live`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(0);
    const response = await fetch(`${admin}/ready`);
    expect([response.status, await response.json()]).toEqual([
      503,
      { ready: false, reason: 'The gateway is stopping.', source: 'demo' },
    ]);
    busy.socket.destroy();
    expect(await exited).toBe(0);
  });

  it('is bounded in connections', async () => {
    const { output } = await startGatewayProcess({ ADMIN_PORT: '0' });
    const [, admin = ''] = /"adminAddress":"([^"]+)"/.exec(output()) ?? [];
    const connections = await Promise.all(Array.from({ length: 100 }, () => openRaw(admin)));
    const further = await openRaw(admin);
    if (!further.isClosed()) await once(further.socket, 'close');
    expect(connections.filter((connection) => connection.isClosed())).toHaveLength(0);
  });
});
