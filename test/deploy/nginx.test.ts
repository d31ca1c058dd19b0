/** Behind nginx clients get an error with a code in time, even if the upstream or all gateways fail. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { demoTokens } from '../fixtures/demo.js';
import { json, stall, startFakeUpstream } from '../support/fake-upstream.js';
import { post, startGatewayProcess } from '../support/gateway-process.js';
import { LIMITS_OF_PRODUCTION } from '../support/processes.js';
import { areMissing, startNginx } from './programs.js';

interface Answered {
  readonly data: unknown;
  readonly errors: readonly { readonly extensions: { readonly code: string } }[];
}

async function startPair(stalled: 'tokens' | 'routes') {
  const upstream = await startFakeUpstream({}, onTestFinished);
  upstream.plan('routes', json({ tokens: demoTokens }));
  upstream.plan(stalled, stall);
  const env = { UPSTREAM_URL: upstream.url, LOG_REQUESTS: 'none', ...LIMITS_OF_PRODUCTION };
  const gateways = await Promise.all([startGatewayProcess(env), startGatewayProcess(env)]);
  const nginx = await startNginx(gateways.map(({ address }) => Number(new URL(address).port)));
  const ask = async (query: string) => {
    const from = performance.now();
    const response = await post(nginx.address, { query });
    const answer = (await response.json()) as Answered;
    return { status: response.status, seconds: (performance.now() - from) / 1000, ...answer };
  };
  const executed = async () => {
    const texts = await Promise.all(
      gateways.map(async ({ address }) => (await fetch(`${address}/metrics`)).text()),
    );
    const counts = texts.flatMap((text) => [
      ...text.matchAll(/^gateway_requests_total\{cache="miss",outcome="UPSTREAM_\w+",scope="\w+"\} (\d+)$/gm),
    ]);
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  };
  return { gateways, nginx, ask, executed };
}

describe.skipIf(areMissing('nginx'))('gateways behind nginx whose upstream does not answer', () => {
  // Both pairs are tested at once, because each answer takes 25 s.
  it('gateways answer within 30 s with their own error code, also before their first listing, and execute once', async () => {
    const [pair, early] = await Promise.all([startPair('routes'), startPair('tokens')]);
    const statuses = () =>
      Promise.all(pair.gateways.map(async ({ address }) => (await fetch(`${address}/ready`)).status));
    await expect.poll(statuses).toEqual([200, 200]);
    const [first, second] = demoTokens;
    const routes = (token = first) =>
      `destinations(srcChainKey: "${token?.chainKey}", srcToken: "${token?.address}")`;
    const answers = await Promise.all([
      pair.ask(`{ chains { name } ${routes()} { chainKey } }`),
      pair.ask(`{ chains { name } ${routes(second)} { tokens { destinations { chainKey } } } }`),
      early.ask('{ chains { name } tokens { name } }'),
      early.ask('{ tokenSearch(query: "usdc") { totalCount } chains { name } }'),
    ]);
    for (const { status, seconds, data, errors } of answers) {
      expect([status, errors.map(({ extensions }) => extensions.code)]).toEqual([200, ['UPSTREAM_TIMEOUT']]);
      // The fields that do not need the stalled request have their data.
      expect(data).toMatchObject({ chains: expect.arrayContaining([{ name: 'Ethereum' }]) });
      expect(seconds).toBeLessThan(30);
    }
    for (const { seconds } of answers.slice(0, 2)) expect(seconds).toBeGreaterThan(20);
    for (const { executed } of [pair, early]) expect(await executed()).toBe(2);
  });

  it('gateways that have all ended are replaced by a JSON error of nginx', async () => {
    const { nginx, gateways } = await startPair('routes');
    for (const { child, exited } of gateways) {
      child.kill('SIGKILL');
      await exited;
    }
    const response = await fetch(`${nginx.address}/graphql?query={__typename}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([502, 'application/json']);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'OVERLOADED' } }] });
  });
});
