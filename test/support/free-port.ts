/** Free ports for servers that start late or restart. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** The first port. All ports are below the range from which systems choose free ports. */
const FIRST_PORT = 20_000;
const PORTS = 12_000;
/** Each of this many workers of vitest has its own ports, so that no two workers choose the same one. */
const WORKERS = 12;
const WORKER = Number(process.env.VITEST_POOL_ID ?? 0) % WORKERS;
/** Ports that this process has returned before: a server may be about to listen on them. */
const given = new Set<number>();

/** The system assigns such a port to nobody, so it stays free for a server that starts late or restarts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + WORKERS * randomInt(PORTS / WORKERS) + WORKER;
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(Boolean, () => false);
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
