import { Pool } from 'undici';
import { demoChains, demoTokens } from '../fixtures/demo.js';

/** A request, and the `data` of the only right response. */
interface Question {
  readonly query: string;
  readonly variables?: object;
  readonly data: unknown;
}

const [{ chainKey = '', address = '', symbol = '' } = {}] = demoTokens;

/** Every third question has new variables, so that the gateway must execute it. Others have cached responses. */
function questionNumber(nth: number): Question {
  if (nth % 3 === 0) {
    return {
      query:
        'query ($a: String!, $b: String!) { tokensByKey(keys: [{ chainKey: $a, address: $b }, { chainKey: "none", address: $b }]) { symbol } }',
      variables: { a: chainKey, b: address, nth },
      data: { tokensByKey: [{ symbol }, null] },
    };
  }
  // One of fifty responses is large, up to 100 kB.
  if (nth % 50 === 1) return { query: '{ tokens { chainKey address symbol decimals } }', data: ALL_TOKENS };
  return { query: '{ chains { chainKey name } }', data: ALL_CHAINS };
}

const ALL_TOKENS = {
  tokens: demoTokens.map((row) => ({
    chainKey: row.chainKey,
    address: row.address,
    symbol: row.symbol,
    decimals: row.decimals,
  })),
};
const ALL_CHAINS = { chains: demoChains.map(({ chainKey, name }) => ({ chainKey, name })) };

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
