/** The built gateway with one request in progress, which waits for the upstream. */
import { expect, onTestFinished } from 'vitest';
import { type Answer, startFakeUpstream } from './fake-upstream.js';
import { ask, startGatewayProcess } from './gateway-process.js';

/** @param tokens the answer of the upstream to requests for tokens, which the request of one client waits for */
export async function startWaitingGateway(tokens: Answer, env: Record<string, string> = {}) {
  const upstream = await startFakeUpstream({}, onTestFinished);
  upstream.plan('tokens', tokens);
  const gateway = await startGatewayProcess({ UPSTREAM_URL: upstream.url, ...env });
  const answer = ask<{ tokens: unknown[] }>(gateway.address, '{ tokens { symbol } }');
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  // A test may ignore the response.
  answer.then(settle, settle);
  await expect.poll(() => upstream.count('tokens')).toBeGreaterThan(0);
  // The gateway itself requests the tokens at its start. So this alone does not show that the client's request arrived.
  await expect.poll(async () => isSettled || (await inFlight(gateway.address)) > 1).toBe(true);
  return {
    ...gateway,
    answer,
  };
}

/** How many requests wait for their response, including this request for the metrics. */
async function inFlight(address: string): Promise<number> {
  const metrics = await (await fetch(`${address}/metrics`)).text();
  return Number(/^gateway_requests_in_flight (\d+)$/m.exec(metrics)?.[1]);
}
