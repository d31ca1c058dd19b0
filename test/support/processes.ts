/**
 * The fixed limits of a gateway process, free ports, and the CPU time and memory of a process. Those are for Linux: NaN
 * or false on other systems, and if the process has ended.
 */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { pathToFileURL } from 'node:url';

/** On busy machines operations wait long for their turns. */
const OF_TESTS = { maxWaitMs: 60_000 };

/**
 * The environment variable that changes the fixed limits of a process: it lets Node load a module that sets them. An
 * unknown name ends the process.
 *
 * @param root the folder of the built checkout
 */
export function fixedLimits(
  limits: Readonly<Record<string, number>> = {},
  root = process.cwd(),
): { readonly NODE_OPTIONS: string } {
  const config = JSON.stringify(pathToFileURL(`${root}/dist/config/config.js`).href);
  const values = JSON.stringify({ ...OF_TESTS, ...limits });
  const code = `import { FIXED_LIMITS } from ${config};
const values = ${values};
for (const name in values) if (!(name in FIXED_LIMITS)) throw new Error('There is no limit ' + name);
Object.assign(FIXED_LIMITS, values);`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** The environment variables of a process that has the fixed limits of production. */
export const LIMITS_OF_PRODUCTION = { NODE_OPTIONS: '' };

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

/** CPU time of the main thread since the start, in milliseconds. The main thread handles all requests. */
export function mainThreadMs(pid: number | undefined): number {
  return Number(procFile(pid, 'schedstat').split(' ')[0] || Number.NaN) / 1e6;
}

export function isIdle(pid: number | undefined): boolean {
  return /^\d+ \(.*\) S/.test(procFile(pid, 'stat'));
}

/** User and system time of all threads in microseconds. Linux counts them in hundredths of a second. */
export function cpuMicrosOf(pid: number | undefined): number {
  const fields = procFile(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11] ?? Number.NaN) + Number(fields[12] ?? Number.NaN)) * 10_000;
}

export function megabytesOf(pid: number | undefined): { readonly now: number; readonly most: number } {
  const status = procFile(pid, 'status');
  const read = (name: string) =>
    (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) * 1024) / 1e6;
  return { now: read('VmRSS'), most: read('VmHWM') };
}

function procFile(pid: number | undefined, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
