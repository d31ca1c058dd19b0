/** An upstream with a network of routes, and a gateway that sweeps them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import type { StoppedClock } from './clock.js';
import { type Answer, type FakeUpstream, json, startFakeUpstream } from './fake-upstream.js';
import { createTestGateway, type TestGateway, type TestOptions } from './test-gateway.js';
import { FRESH } from './test-server.js';

/** The routes of an upstream: the destinations of each source. Tokens are written as "chain address". */
export type Network = Readonly<Record<string, readonly string[]>>;

/** A row of the token "chain address". Its symbol is unique, so that it does not replace another row. */
export function rowOf(token: string, changes: Parameters<typeof tokenRow>[2] = {}) {
  const [chainKey = '', address = ''] = token.split(' ');
  return tokenRow(chainKey, address, { symbol: token, ...changes });
}

export function routesOf(network: Network): (token: string) => Answer {
  return (token) => json({ tokens: (network[token] ?? []).map((destination) => rowOf(destination)) });
}

function tokenOf(url = ''): string {
  const { searchParams } = new URL(url, 'http://fake');
  return `${searchParams.get('srcChainKey')} ${searchParams.get('srcToken')}`;
}

export async function startSweptUpstream(network: Network) {
  const upstream = await startFakeUpstream({ chains: ['a', 'b', 'c'].map((key) => chainRow(key)) });
  const swept = {
    ...upstream,
    asked: () => upstream.routesAsked().map(({ url }) => tokenOf(url)),
    /** From now on the upstream has the routes of this network, and lists its tokens and these further rows. */
    planNetwork(next: Network, beside: readonly object[] = []) {
      upstream.plan('tokens', json({ tokens: [...Object.keys(next).map((key) => rowOf(key)), ...beside] }));
      swept.planRoutes(routesOf(next));
    },
    planRoutes(routes: (token: string) => Answer) {
      upstream.plan('routes', (_response, { url }) => routes(tokenOf(url)));
    },
  };
  swept.planNetwork(network);
  return swept;
}

/** Settings for a sweep that takes a fifth of a second, without automatic refreshes of the listings. */
export const SWEEPING = { routesSweepMs: 200, ...FRESH, upstreamRetries: 0 } as const;

export async function startSweeping(upstream: FakeUpstream, options: TestOptions = {}) {
  const gateway = await createTestGateway({
    upstream,
    firstPauseMs: 10,
    ...options,
    config: { ...SWEEPING, ...options.config },
  });
  gateway.snapshots.start();
  return gateway;
}

export interface Sources {
  readonly chains: readonly {
    readonly chainKey: string;
    readonly tokens: readonly { readonly address: string }[];
  }[];
  readonly isComplete: boolean;
  readonly asOf: string | null;
}

export const SOURCES = `query ($dstChainKey: String!, $dstToken: String!) {
  sources(dstChainKey: $dstChainKey, dstToken: $dstToken) {
    chains { chainKey tokens { address } }
    isComplete
    asOf
  }
}`;

export function askSources({ query }: TestGateway, token: string) {
  const [dstChainKey, dstToken] = token.split(' ');
  return query<{ sources: Sources | null }>(SOURCES, { dstChainKey, dstToken });
}

export async function sourcesOf(gateway: TestGateway, token: string) {
  const { data, errors } = await askSources(gateway, token);
  if (errors) return errors.map(({ extensions }) => extensions?.code);
  return data?.sources?.chains.flatMap(({ chainKey, tokens }) =>
    tokens.map(({ address }) => `${chainKey} ${address}`),
  );
}

export async function untilComplete(gateway: TestGateway, token = 'a 0x1'): Promise<Sources> {
  for (;;) {
    const sources = (await askSources(gateway, token)).data?.sources;
    if (sources?.isComplete) return sources;
    await sleep(10);
  }
}

export const untilAsked = (
  { asked }: { readonly asked: () => readonly unknown[] },
  count: number,
  clock: StoppedClock,
  ms: number,
) => {
  const askedLater = () => {
    clock.advance(ms);
    return asked().length;
  };
  return expect.poll(askedLater, { interval: 20 }).toBeGreaterThanOrEqual(count);
};
