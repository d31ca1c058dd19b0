import { expect, onTestFinished } from 'vitest';
import { type Answer, startFakeUpstream } from './fake-upstream.js';
import { ask, type GatewayProcess, startGatewayProcess } from './gateway-process.js';

/** A built gateway with one request of a client that waits for the upstream. */
export interface WaitingGateway extends GatewayProcess {
  /** The response to that request, once it is there. */
  readonly answer: Promise<{ readonly data: { readonly tokens: readonly unknown[] } }>;
}

/** Starts it, with an upstream that answers the request for tokens like this; the test's end ends both. */
export async function startWaitingGateway(
  tokens: Answer,
  env: Record<string, string> = {},
): Promise<WaitingGateway> {
  const upstream = await startFakeUpstream();
  onTestFinished(upstream.close);
  upstream.plan('tokens', tokens);
  const gateway = await startGatewayProcess({ UPSTREAM_URL: upstream.url, ...env });
  const answer = ask<{ tokens: unknown[] }>(gateway.address, '{ tokens { symbol } }');
  // A test may leave it alone.
  answer.catch(() => {});
  await expect.poll(() => upstream.count('tokens')).toBe(1);
  return { ...gateway, answer };
}
