/**
 * The upstream of all servers in the bench. The base address says which server asks, after how many milliseconds it gets
 * the response, how many tokens are listed, and whether a price changes in each response:
 * `/<asker>/50/1000/moving/v1`. `/count` returns the number of requests by server and listing.
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

/** The body with another price in the first row that has a price. */
function moved(body: string): string {
  nth++;
  return body.replace(/"usd":[\d.]+/, `"usd":${1 + nth / 1000}`);
}

/** The gateways do not notice when the bench is killed. This process does, and then ends them. */
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
      // The gateway has already ended.
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
