/**
 * The upstream of all servers in the bench. The base address says which server asks, after how many milliseconds it gets
 * the response, how many tokens are listed, and whether a price changes in each response:
 * `/<asker>/50/1000/moving/v1`. `/count` returns the number of requests by server and listing.
 */
import { createServer } from 'node:http';
import { listingsOf } from '../workloads.js';
import { serve } from './serve.js';

export type Counts = Readonly<Record<string, Readonly<Record<string, number>>>>;

const counts: Record<string, Record<string, number>> = {};
const bodies = new Map<string, string>();
let nth = 0;

function bodyOf(listed: number, isMoving: boolean, listing: string): string {
  const key = `${listed} ${listing}`;
  const body =
    bodies.get(key) ?? JSON.stringify({ [listing]: listingsOf(listed)[listing as 'chains' | 'tokens'] });
  bodies.set(key, body);
  return isMoving ? body.replace(/"usd":[\d.]+/, `"usd":${1 + ++nth / 1000}`) : body;
}

serve(
  createServer(({ url = '' }, response) => {
    if (url === '/count') {
      response.end(JSON.stringify(counts));
      return;
    }
    const [, asker = '', delayMs, listed, change, , listing = ''] = url.split('/');
    counts[asker] ??= {};
    counts[asker][listing] = (counts[asker][listing] ?? 0) + 1;
    setTimeout(() => {
      const body = bodyOf(Number(listed), change === 'moving', listing);
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    }, Number(delayMs));
  }),
);
