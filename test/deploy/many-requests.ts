import { Pool } from 'undici';
import { demoChains, demoTokens } from '../fixtures/demo.js';

/** A request, and the `data` of the only right response. */
interface Question {
  readonly query: string;
  readonly variables?: object;
  readonly data: unknown;
}

const known = demoTokens.find(({ chainKey }) => chainKey === 'ethereum') ?? demoTokens[0];
const { chainKey = '', address = '', symbol = '', decimals = 0 } = known ?? {};
const there = demoTokens.filter((token) => token.chainKey === 'degen');

/** Questions with small answers, whose responses are cached. Those of LARGE have large answers. */
const CACHED: readonly Question[] = [
  {
    query: '{ tokens(srcChainKey: "degen") { symbol decimals } }',
    data: { tokens: there.map((token) => ({ symbol: token.symbol, decimals: token.decimals })) },
  },
  {
    query: `{ token(chainKey: "${chainKey}", address: "${address}") { symbol decimals } }`,
    data: { token: { symbol, decimals } },
  },
];
const LARGE: readonly Question[] = [
  {
    query: '{ chains { chainKey chainType chainId shortName name } }',
    data: {
      chains: demoChains.map(({ chainKey, chainType, chainId, shortName, name }) => ({
        chainKey,
        chainType,
        chainId,
        shortName,
        name,
      })),
    },
  },
  {
    query: '{ tokens { chainKey address symbol decimals } }',
    data: {
      tokens: demoTokens.map((token) => ({
        chainKey: token.chainKey,
        address: token.address,
        symbol: token.symbol,
        decimals: token.decimals,
      })),
    },
  },
];

/** A question with new variables each time, so that the gateway must execute it. */
const executed = (nth: number): Question => ({
  query:
    'query ($a: String!, $b: String!) { tokensByKey(keys: [{ chainKey: $a, address: $b }, { chainKey: "none", address: $b }]) { symbol } }',
  variables: { a: chainKey, b: address, nth },
  data: { tokensByKey: [{ symbol }, null] },
});

/** Every third question is executed, one of fifty has a large answer (up to 100 kB), the others are cached. */
function questionNumber(nth: number): Question {
  const from = nth % 50 === 1 ? LARGE : CACHED;
  return (nth % 3 === 0 ? undefined : from[nth % from.length]) ?? executed(nth);
}

/** Sends questions without a pause over this many connections, by POST and some by GET. None is repeated if it fails. */
export function startManyRequests(origin: string, connections: number) {
  const pool = new Pool(origin, { connections, pipelining: 1 });
  const failures: string[] = [];
  const right = new Map<unknown, string>();
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  let asked = 0;
  let answered = 0;
  let longestMs = 0;
  let isOver = false;

  async function ask(nth: number): Promise<void> {
    const { query, variables, data } = questionNumber(nth);
    const isGet = nth % 5 === 0 && !variables;
    const began = performance.now();
    try {
      const { statusCode, body } = await pool.request(
        isGet
          ? { method: 'GET', path: `/graphql?query=${encodeURIComponent(query)}` }
          : {
              method: 'POST',
              path: '/graphql',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ query, variables }),
            },
      );
      const text = await body.text();
      const expected = right.get(query) ?? JSON.stringify({ data });
      right.set(query, expected);
      if (statusCode !== 200 || text !== expected)
        failures.push(`${nth}: HTTP ${statusCode} ${text.slice(0, 300)}`);
    } catch (error) {
      failures.push(`${nth}: ${String(error)}`);
    }
    longestMs = Math.max(longestMs, performance.now() - began);
    answered++;
    while (waiting[0] && waiting[0].count <= answered) waiting.shift()?.resolve();
  }

  const clients = Array.from({ length: connections }, async () => {
    while (!isOver) await ask(asked++);
  });
  return {
    get answered() {
      return answered;
    },
    /** One line for each request that failed or got a wrong answer. */
    failures,
    get longestMs() {
      return longestMs;
    },
    /** Resolves when this many requests have been answered. */
    reach(count: number) {
      return new Promise<void>((resolve) => {
        waiting.push({ count: Math.max(count, answered + 1), resolve });
        waiting.sort((a, b) => a.count - b.count);
      });
    },
    /** Stops sending, and resolves after the last answer. */
    async stop() {
      isOver = true;
      await Promise.all(clients);
      await pool.close();
    },
  };
}
