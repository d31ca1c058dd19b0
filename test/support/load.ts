/** Clients that ask a gateway all the time, and know the right answers from the rows of the upstream. */
import type { GoodListings } from './faults.js';

interface Question {
  readonly query: string;
  readonly variables?: object;
  readonly expected: unknown;
  /** Whether to add an unused variable with a new value each time: then no cached response fits. */
  readonly isNew?: boolean;
}

/** An answer that takes longer counts as failed. Even on a busy machine no right answer takes this long. */
const MAX_ANSWER_MS = 30_000;
const CHAIN = 'ethereum';

const pick = <Row extends object>(row: Row, ...names: readonly (keyof Row)[]) =>
  Object.fromEntries(names.map((name) => [name, row[name]]));

/** Questions for both whole listings, for a join, and for single tokens. The expected data has the members in the order of the query. */
export function questionsAbout({ chains, tokens }: GoodListings): readonly Question[] {
  const there = tokens.filter(({ chainKey }) => chainKey === CHAIN);
  const chain = chains.find(({ chainKey }) => chainKey === CHAIN);
  return [
    {
      query: '{ tokens { chainKey address decimals symbol } }',
      expected: { tokens: tokens.map((token) => pick(token, 'chainKey', 'address', 'decimals', 'symbol')) },
    },
    {
      query: '{ chains { chainKey chainId name nativeCurrency { symbol decimals address } } }',
      expected: {
        chains: chains.map((row) => ({
          ...pick(row, 'chainKey', 'chainId', 'name'),
          nativeCurrency: pick(row.nativeCurrency, 'symbol', 'decimals', 'address'),
        })),
      },
    },
    {
      query: `{ tokens(srcChainKey: "${CHAIN}") { address decimals price { usd } chain { name chainId } } }`,
      expected: {
        tokens: there.map((token) => ({
          ...pick(token, 'address', 'decimals'),
          price: pick(token.price, 'usd'),
          chain: chain && pick(chain, 'name', 'chainId'),
        })),
      },
    },
    // The addresses are in lower case, as people often paste them.
    ...there.slice(0, 5).map((token) => ({
      query: `query ($address: String!) {
        token(chainKey: "${CHAIN}", address: $address) { address decimals symbol chain { chainKey } }
      }`,
      variables: { address: token.address.toLowerCase() },
      expected: { token: { ...pick(token, 'address', 'decimals', 'symbol'), chain: { chainKey: CHAIN } } },
    })),
  ];
}

export type Load = ReturnType<typeof startLoad>;

/** Asks every fifth by GET. @param pace questions a second; or how many connections ask one after the other */
export function startLoad(
  address: string,
  questions: readonly Question[],
  pace: { readonly perSecond: number } | { readonly connections: number },
) {
  const texts = questions.map(({ expected }) => JSON.stringify({ data: expected }));
  const failures: string[] = [];
  const inProgress = new Set<Promise<void>>();
  let asked = 0;
  let answered = 0;
  let isOver = false;

  async function askNext(): Promise<void> {
    const nth = asked++;
    const question = questions[nth % questions.length];
    if (!question) return;
    const failure = await failureOf(address, question, texts[nth % questions.length] ?? '', nth);
    if (failure) failures.push(failure);
    else answered++;
  }
  function ask(): Promise<void> {
    const asking = askNext();
    inProgress.add(asking);
    return asking.finally(() => inProgress.delete(asking));
  }
  const timer = 'perSecond' in pace ? setInterval(ask, 1000 / pace.perSecond) : undefined;
  async function askOneAfterTheOther(): Promise<void> {
    while (!isOver) await ask();
  }
  if ('connections' in pace) for (let nth = 0; nth < pace.connections; nth++) askOneAfterTheOther();
  const answers = () => Promise.all(inProgress);
  return {
    get answered() {
      return answered;
    },
    failures: failures as readonly string[],
    answers,
    async stop() {
      isOver = true;
      clearInterval(timer);
      await answers();
    },
  };
}

async function failureOf(
  address: string,
  { query, variables, isNew }: Question,
  right: string,
  nth: number,
): Promise<string | undefined> {
  const sent = isNew ? { ...variables, nth } : variables;
  const parameters = new URLSearchParams({ query, variables: JSON.stringify(sent ?? {}) });
  const posted = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: sent }),
  };
  const [search, init] = nth % 5 === 0 ? [`?${parameters}`, {}] : ['', posted];
  try {
    const signal = AbortSignal.timeout(MAX_ANSWER_MS);
    const response = await fetch(`${address}/graphql${search}`, { ...init, signal });
    const body = await response.text();
    if (response.status === 200 && body === right) return undefined;
    return `${query} got HTTP ${response.status}, ${difference(body, right)}`;
  } catch (error) {
    return `${query} got ${String(error)} ${String((error as Error).cause ?? '')}`;
  }
}

function difference(got: string, wanted: string): string {
  let at = 0;
  while (at < got.length && got[at] === wanted[at]) at++;
  const from = Math.max(0, at - 60);
  return `at ${at} of ${got.length}: ${got.slice(from, at + 60)} for ${wanted.slice(from, at + 60)}`;
}
