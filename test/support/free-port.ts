import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** From here on, below the ports that systems give to whoever asks for any. */
const FIRST_PORT = 20_000;
const PORTS = 12_000;
/** So many workers of vitest have ports of their own: two could find the same port free before one listens on it. */
const WORKERS = 12;
const WORKER = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS;
/** Ports that this process was given before: a server may be about to listen on one, even if nobody does now. */
const given = new Set<number>();

/**
 * A port that nobody listens on now. Not one that the system would give to the next who asks: a server that is
 * restarted on it, or starts late, would find it taken.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + WORKERS * randomInt(PORTS / WORKERS) + WORKER;
    if (given.has(port)) continue;
    const server = createServer().listen(port, '127.0.0.1');
    try {
      await once(server, 'listening');
    } catch {
      continue;
    }
    server.close();
    await once(server, 'close');
    given.add(port);
    return port;
  }
}
