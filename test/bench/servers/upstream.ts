/**
 * The REST service that is asked. A base address says who asks, after how many milliseconds it is answered, how
 * many tokens are listed, and whether a price is another each time: `/<asker>/50/1000/moving/v1`. `/count` says
 * how often each has asked for what.
 */
import { createServer } from 'node:http';
import { listingsOf } from '../listings.js';
import { serve } from './serve.js';

/** Requests by asker, then by listing. */
export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

const counts: Record<string, Record<string, number>> = {};
const bodies = new Map<string, string>();
let nth = 0;

function bodyOf(listed: number, isMoving: boolean, listing: string, srcChainKey: string | null): string {
  const key = [listed, listing, srcChainKey].join();
  const known = bodies.get(key);
  if (known) return isMoving ? moved(known) : known;
  const { chains, tokens } = listingsOf(listed);
  const rows =
    listing === 'chains' ? chains : tokens.filter(({ chainKey }) => chainKey === (srcChainKey ?? chainKey));
  bodies.set(key, JSON.stringify({ [listing]: rows }));
  return bodyOf(listed, isMoving, listing, srcChainKey);
}

/** With another price in the first row that has one. */
function moved(body: string): string {
  nth++;
  return body.replace(/"usd":[\d.]+/, `"usd":${1 + nth / 1000}`);
}

/** The gateways know nothing of the process that started them: should that one be killed, they are ended here. */
const gatewayPids = new Set<number>();
process.on('message', ({ pid, hasEnded }: { pid: number; hasEnded: boolean }) => {
  if (hasEnded) gatewayPids.delete(pid);
  else gatewayPids.add(pid);
});
process.once('disconnect', () => {
  for (const pid of gatewayPids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
});

serve(
  createServer(({ url = '' }, response) => {
    if (url === '/count') {
      response.end(JSON.stringify(counts));
      return;
    }
    const { pathname, searchParams } = new URL(url, 'http://upstream');
    const [, asker = '', delayMs, listed, change, , listing = ''] = pathname.split('/');
    counts[asker] ??= {};
    counts[asker][listing] = (counts[asker][listing] ?? 0) + 1;
    setTimeout(() => {
      const body = bodyOf(Number(listed), change === 'moving', listing, searchParams.get('srcChainKey'));
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    }, Number(delayMs));
  }),
);
