import { Agent, request } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

// A thread of its own: reading responses must not delay the measurements.

/** @type {{ address: string, connections: number, forMs: number, bodies: readonly string[], from?: string }} */
const { address, connections, forMs, bodies, from } = workerData;
const agent = new Agent({ keepAlive: true, maxSockets: connections, ...(from && { localAddress: from }) });
/** @type {Map<number, number>} */
const statuses = new Map();
const until = performance.now() + forMs;
let nth = 0;

/** @param {string} body */
function post(body) {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json' };
    const sent = request(`${address}/graphql`, { method: 'POST', headers, agent }, (response) => {
      response.resume();
      response.once('error', () => resolve(0));
      response.once('end', () => resolve(response.statusCode ?? 0));
    });
    sent.once('error', () => resolve(0));
    sent.end(body);
  });
}

async function attack() {
  while (performance.now() < until) {
    const body = bodies[nth % bodies.length] ?? '';
    const status = await post(body.replaceAll('$N', String(nth++)));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
}

await Promise.all(Array.from({ length: connections }, attack));
agent.destroy();
parentPort?.postMessage(statuses);
