import { expect, onTestFinished } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { type Answer, type FakeUpstream, json, startFakeUpstream } from './fake-upstream.js';
import {
  type Answered,
  createTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from './test-gateway.js';

/** Where each token can be moved to: "chain address" of the sources, and of their destinations. */
export type Network = Readonly<Record<string, readonly string[]>>;

/** An upstream that answers requests for routes from a network, and notes who was asked for. */
export interface SweptUpstream extends FakeUpstream {
  /** The tokens whose routes were asked for so far, in that order. */
  asked(): readonly string[];
  /** Answers from this network from now on; lists its tokens, and these beside them. */
  planNetwork(network: Network, listedBeside?: readonly object[]): void;
  /** Answers requests for routes in this way from now on. */
  planRoutes(answer: (token: string) => Answer): void;
}

/** A row of the token "chain address"; its symbol is its own, so that it takes no other's place in a listing. */
export function rowOf(token: string, changes: Parameters<typeof tokenRow>[2] = {}) {
  const [chainKey = '', address = ''] = token.split(' ');
  return tokenRow(chainKey, address, { symbol: token, ...changes });
}

/** The answer to a request for the routes of this token. */
export function routesOf(network: Network): (token: string) => Answer {
  return (token) => json({ tokens: (network[token] ?? []).map((destination) => rowOf(destination)) });
}

/** The token that a request asks the routes of, as "chain address"; undefined for other requests. */
function tokenOf(url: string | undefined): string | undefined {
  const { searchParams } = new URL(url ?? '', 'http://fake');
  const address = searchParams.get('srcToken');
  return address === null ? undefined : `${searchParams.get('srcChainKey')} ${address}`;
}

/** Starts an upstream whose listing is the tokens of the network. */
export async function startSweptUpstream(network: Network): Promise<SweptUpstream> {
  const upstream = await startFakeUpstream({ chains: ['a', 'b', 'c'].map((key) => chainRow(key)) });
  let listing: Answer;
  let routes: (token: string) => Answer;
  const swept: SweptUpstream = {
    ...upstream,
    asked: () => upstream.seen.flatMap(({ url }) => tokenOf(url) ?? []),
    planNetwork(next, beside = []) {
      listing = json({ tokens: [...Object.keys(next).map((token) => rowOf(token)), ...beside] });
      routes = routesOf(next);
    },
    planRoutes(next) {
      routes = next;
    },
  };
  swept.planNetwork(network);
  upstream.plan('tokens', (response, request, nth) => {
    const token = tokenOf(request.url);
    (token === undefined ? listing : routes(token))(response, request, nth);
  });
  return swept;
}

/** Lets the date stand still, so that no second sweep begins by itself. Timers and `performance` go on. */
export function stopDate(): { advance(ms: number): void } {
  const real = Date.now;
  let now = real.call(Date);
  Date.now = () => now;
  onTestFinished(() => {
    Date.now = real;
  });
  return {
    advance(ms) {
      now += ms;
    },
  };
}

/** The settings of gateways that sweep in a fifth of a second, and refresh nothing by themselves. */
export const SWEEPING = {
  routesSweepMs: 200,
  tokensFreshMs: 3_600_000,
  chainsFreshMs: 3_600_000,
  upstreamRetries: 0,
} as const;

/** Starts a gateway that sweeps this upstream. */
export async function startSweeping(
  upstream: FakeUpstream,
  options: TestGatewayOptions = {},
): Promise<TestGateway> {
  const gateway = await createTestGateway({
    upstream,
    firstPauseMs: 10,
    ...options,
    config: { ...SWEEPING, ...options.config },
  });
  gateway.snapshots.start();
  return gateway;
}

/** The sources of a token, as a client sees them. */
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

export function askSources(
  { query }: TestGateway,
  token: string,
): Promise<Answered<{ sources: Sources | null }>> {
  const [dstChainKey, dstToken] = token.split(' ');
  return query(SOURCES, { dstChainKey, dstToken });
}

/** The sources as "chain address"; the codes of the errors where there are none. */
export async function sourcesOf(gateway: TestGateway, token: string) {
  const { data, errors } = await askSources(gateway, token);
  if (errors) return errors.map(({ extensions }) => extensions?.code);
  return data?.sources?.chains.flatMap(({ chainKey, tokens }) =>
    tokens.map(({ address }) => `${chainKey} ${address}`),
  );
}

/** Resolves when the gateway knows the routes of every bridgeable token. */
export async function untilComplete(gateway: TestGateway, token = 'a 0x1', interval = 10): Promise<Sources> {
  let sources: Sources | null | undefined;
  await expect
    .poll(
      async () => {
        sources = (await askSources(gateway, token)).data?.sources;
        return sources?.isComplete;
      },
      { interval },
    )
    .toBe(true);
  if (!sources) throw new Error('Expected sources, got none');
  return sources;
}
