import { HEADERS, type Load, send } from '../load.js';
import { end } from '../processes.js';
import { contestTable, shown } from '../report.js';
import { type Contest, cpuRatio, entry, runRounds } from '../rounds.js';
import { startGateway } from '../targets.js';
import { q3 } from '../workloads.js';
import type { Part } from './bench.js';

const OF_PLAIN = 3;
const LISTED = 1000;

/** The full list by GET: compressed, and not sent again where the client has it. */
export const caching: Part = async ({ upstream, seconds }) => {
  const gateway = await startGateway(upstream, { listed: LISTED, settings: SETTLED });
  const { query } = JSON.parse(q3.bodies[0] ?? '') as { query: string };
  const path = `/graphql?query=${encodeURIComponent(query)}`;
  const url = new URL(path, gateway.url).href;
  const { accept } = HEADERS;
  const headersFor = (encoding: string) => ({ accept, 'accept-encoding': encoding });

  const whole = await send(url, { headers: headersFor('identity') });
  const text = await whole.text();
  const load = (headers: Load['headers'] = {}, status = 200): Load => ({
    connections: q3.connections,
    method: 'GET',
    path,
    headers,
    status,
  });
  const plain = load(headersFor('identity'));
  const kinds: { label: string; name: string; load: Load }[] = [];
  for (const encoding of ['gzip', 'br']) {
    const compressed = await send(url, { headers: headersFor(encoding) });
    if (compressed.headers.get('content-encoding') !== encoding || (await compressed.text()) !== text) {
      throw new Error(`The answer in ${encoding} is not the plain one`);
    }
    kinds.push({ label: `Q3, ${encoding}`, name: encoding, load: load(headersFor(encoding)) });
  }
  const held = { ...headersFor('identity'), 'if-none-match': whole.headers.get('etag') ?? '' };
  const unchanged = await send(url, { headers: held });
  if (unchanged.status !== 304) throw new Error(`Expected status 304, got ${unchanged.status}`);
  kinds.push({ label: 'Q3, unchanged', name: '304', load: load(held, 304) });

  const contests: Contest[] = kinds.map((kind) => ({
    label: kind.label,
    entries: [entry(kind.name, gateway, kind.load), entry('plain', gateway, plain)],
  }));
  await runRounds(contests, { upstream, seconds });
  await end(gateway);
  return {
    title: 'The full list by GET, as caches ask for it',
    text: contestTable(contests),
    goals: contests.flatMap(({ label, entries: [kind, plainly] }) => {
      if (!kind || !plainly) return [];
      const times = cpuRatio(kind, plainly);
      return [
        {
          goal: `${label}: ${OF_PLAIN} times its plain hits, by CPU a request`,
          measured: shown(times, 1),
          isMet: times >= OF_PLAIN,
        },
      ];
    }),
  };
};

/** The tag that the client holds has to stay the current one. */
const SETTLED = { TOKENS_FRESH_MS: '3600000', CHAINS_FRESH_MS: '3600000' };
