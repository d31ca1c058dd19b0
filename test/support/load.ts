import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { GoodListings } from './faults.js';

/** What a client asks, and the data that is right by the upstream's rows. */
export interface Question {
  readonly query: string;
  readonly variables?: object;
  readonly expected: unknown;
}

/** Clients that ask evenly, whatever becomes of their questions. */
export interface Load {
  /** How many questions have been answered rightly. */
  readonly answered: number;
  /** Every error and every wrong answer, in a line each. */
  readonly failures: readonly string[];
  /** Asks no more, and resolves when the last question has its answer. */
  stop(): Promise<void>;
}

/** An answer that takes longer has failed: it waits for an upstream, and not for a busy machine. */
const PATIENCE_MS = 30_000;
const CHAIN = 'ethereum';

/** The listings whole, a join, and look-ups of tokens. */
export function questionsAbout({ chains, tokens }: GoodListings): readonly Question[] {
  const there = tokens.filter(({ chainKey }) => chainKey === CHAIN);
  const chain = chains.find(({ chainKey }) => chainKey === CHAIN);
  return [
    {
      query: '{ tokens { chainKey address decimals symbol } }',
      expected: {
        tokens: tokens.map(({ chainKey, address, decimals, symbol }) => ({
          chainKey,
          address,
          decimals,
          symbol,
        })),
      },
    },
    {
      query: '{ chains { chainKey chainId name nativeCurrency { symbol decimals address } } }',
      expected: {
        chains: chains.map(({ chainKey, chainId, name, nativeCurrency: { symbol, decimals, address } }) => ({
          chainKey,
          chainId,
          name,
          nativeCurrency: { symbol, decimals, address },
        })),
      },
    },
    {
      query: `{ tokens(srcChainKey: "${CHAIN}") { address decimals price { usd } chain { name chainId } } }`,
      expected: {
        tokens: there.map(({ address, decimals, price }) => ({
          address,
          decimals,
          price: { usd: price.usd },
          chain: { name: chain?.name, chainId: chain?.chainId },
        })),
      },
    },
    // As people paste them, in small letters.
    ...there.slice(0, 5).map(({ address, decimals, symbol }) => ({
      query: `query ($address: String!) {
        token(chainKey: "${CHAIN}", address: $address) { address decimals symbol chain { chainKey } }
      }`,
      variables: { address: address.toLowerCase() },
      expected: { token: { address, decimals, symbol, chain: { chainKey: CHAIN } } },
    })),
  ];
}

/** Asks these questions round and round, so many a second. */
export function startLoad(address: string, questions: readonly Question[], perSecond: number): Load {
  const failures: string[] = [];
  const underWay = new Set<Promise<void>>();
  let asked = 0;
  let answered = 0;
  const timer = setInterval(() => {
    const question = questions[asked++ % questions.length];
    if (!question) return;
    const answer = failureOf(address, question)
      .then((failure) => {
        if (failure) failures.push(failure);
        else answered++;
      })
      .finally(() => underWay.delete(answer));
    underWay.add(answer);
  }, 1000 / perSecond);
  return {
    get answered() {
      return answered;
    },
    failures,
    async stop() {
      clearInterval(timer);
      await Promise.all(underWay);
    },
  };
}

/** What is wrong with the answer to a question; undefined where nothing is. */
async function failureOf(
  address: string,
  { query, variables, expected }: Question,
): Promise<string | undefined> {
  try {
    const response = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const body = await response.text();
    const right = { data: expected };
    if (response.status === 200 && isDeepStrictEqual(JSON.parse(body), right)) return undefined;
    return `${query} got HTTP ${response.status}, ${difference(body, JSON.stringify(right))}`;
  } catch (error) {
    return `${query} got ${String(error)} ${String((error as Error).cause ?? '')}`;
  }
}

/** Where two texts part, and how they go on from shortly before that. */
function difference(got: string, wanted: string): string {
  let at = 0;
  while (at < got.length && got[at] === wanted[at]) at++;
  const from = Math.max(0, at - 60);
  return `at ${at} of ${got.length}: ${got.slice(from, at + 60)} for ${wanted.slice(from, at + 60)}`;
}

/** Resident memory of a process in MB; NaN where the system does not tell. */
export function residentMegabytes(pid: number | undefined): number {
  try {
    const kibibytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN;
    return (Number(kibibytes) * 1024) / 1e6;
  } catch {
    return Number.NaN;
  }
}
