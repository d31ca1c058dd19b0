/** The built gateway as a process of its own, as `npm start` runs it. */
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { type AtEnd, share } from './ends.js';
import { type Answer, startFakeUpstream } from './fake-upstream.js';
import { fixedLimits } from './processes.js';
import { PACKAGE, ROOT } from './readme.js';
import { spawnKept } from './server-process.js';

export const MAIN = join(ROOT, 'dist/main.js');
/** The flags that `npm start` gives Node. Without them the process can take 100 MB more memory with Node 24. */
export const FLAGS = (PACKAGE.scripts.start ?? '').split(' ').filter((word) => word.startsWith('--'));

export type GatewayProcess = Awaited<ReturnType<typeof startGatewayProcess>>;

/**
 * The gateway gets a free port. The end of the test ends the process.
 *
 * @param atEnd registers the function that ends it; concurrent tests pass the `onTestFinished` of their context
 * @param wrapper a program with arguments that runs the command after it, which is that of the gateway
 */
export async function startGatewayProcess(
  env: Record<string, string> = {},
  atEnd: AtEnd = onTestFinished,
  wrapper: readonly string[] = [],
) {
  const { child, output, exited } = spawnGateway({ PORT: '0', ...env }, MAIN, wrapper);
  atEnd(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', () => {
      const found = /"address":"(http:[^"]+)\/graphql"/.exec(output());
      if (found?.[1]) resolve(found[1]);
    });
    exited.then((code) => reject(new Error(`The gateway ended with status ${code}: ${output()}`)));
  });
  const [, admin = ''] = /"adminAddress":"([^"]+)"/.exec(output()) ?? [];
  return {
    address,
    /** The address of `ADMIN_PORT`; empty without it. */
    admin,
    child,
    output,
    exited,
  };
}

/** One built gateway with demo data for all tests of a file. Call it in the file or `describe`, not in a hook. */
export const shareGateway = () =>
  share(async (atEnd) => {
    // Without refreshes of tokens, which change prices in the demo: two responses must have equal prices.
    const { address } = await startGatewayProcess({ TOKENS_FRESH_MS: '3600000' }, atEnd);
    return { endpoint: `${address}/graphql` };
  });

/** Starts the built gateway with these settings and the fixed limits of tests, and does not wait for it. */
export function spawnGateway(env: Record<string, string>, main = MAIN, wrapper: readonly string[] = []) {
  const [program = '', ...args] = [...wrapper, process.execPath, ...FLAGS, main];
  return spawnKept(program, args, { env: { PATH: process.env.PATH ?? '', ...fixedLimits(), ...env } });
}

export async function ask<Data>(address: string, query: string, variables?: object): Promise<{ data: Data }> {
  return (await (await post(address, { query, variables })).json()) as { data: Data };
}

export function post(address: string, body: object, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

/** One request of a client waits for the upstream. @param tokens the answer that it waits for */
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
  return { ...gateway, answer };
}

/** How many requests wait for their response, including this request for the metrics. */
async function inFlight(address: string): Promise<number> {
  const metrics = await (await fetch(`${address}/metrics`)).text();
  return Number(/^gateway_requests_in_flight (\d+)$/m.exec(metrics)?.[1]);
}
