/** The part of the bench for operations that are repeated, which the cache of responses answers. */
import { ask, HEADERS, send } from '../load.js';
import { end, startGateway, startServer, type Target } from '../processes.js';
import { contestTable, type Goal, type Part, shown } from '../report.js';
import { type Contest, checkEqual, entry, ratio, runRounds } from '../rounds.js';
import type { BareAnswers } from '../servers/bare.js';
import { LARGE, repeated, SMALL } from '../workloads.js';

const OF_BARE = 0.9;

export const hits: Part = async (bench) => {
  const gateways = new Map<number, Target>();
  for (const listed of [SMALL, LARGE]) gateways.set(listed, await startGateway(bench.upstream, { listed }));
  const bare = await startServer('bare', 'bare');
  const contests: Contest[] = [];
  for (const { name, listed, ...load } of repeated) {
    const gateway = gateways.get(listed) ?? bare;
    await teach(bare, gateway, load.bodies);
    await checkEqual(load.bodies, gateway, bare);
    contests.push({
      label: name,
      entries: [
        entry('gateway', gateway, load),
        entry('bare', bare, load),
        entry('bare, again', bare, load, 'bare'),
      ],
    });
  }
  await runRounds(contests, bench);
  await end(bare, ...gateways.values());
  return {
    title: 'Repeated requests',
    text: `${contestTable(contests)}

The last columns: how many times as good as this server the gateway is; for "bare, again", the bare server as itself.`,
    goals: contests.map(goalOf),
  };
};

async function teach(bare: Target, gateway: Target, bodies: readonly string[]): Promise<void> {
  const like = await send(gateway.url, { method: 'POST', headers: HEADERS, body: bodies[0] ?? '' });
  const answers: [string, string][] = [];
  for (const body of bodies) answers.push([body, await ask(gateway.url, body)]);
  const put: BareAnswers = { contentType: like.headers.get('content-type') ?? '', answers };
  await send(bare.url, { method: 'PUT', body: JSON.stringify(put) });
}

function goalOf({ label, entries: [gateway, bare, again] }: Contest): Goal {
  if (!gateway || !bare || !again) throw new Error('Expected three entries');
  const ofBare = ratio(bare, gateway, 'cpuMicros');
  return {
    goal: `hits, ${label}: at least ${OF_BARE} of bare`,
    measured: `${shown(ofBare, 2)} (bare, again: ${shown(ratio(again, bare, 'cpuMicros'), 2)})`,
    isMet: ofBare >= OF_BARE,
  };
}
