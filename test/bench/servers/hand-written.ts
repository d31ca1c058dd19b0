/**
 * The least work for an answer: a handler on `node:http` without GraphQL, which knows a few operations by their names. It
 * parses the request, finds the rows in Maps, builds the answer as an object, and sends it as JSON:
 * `hand-written.js <upstream>`.
 */
import type { RawToken } from '../../fixtures/demo.js';
import { readRows, serveBodies } from './serve.js';

type TokenKey = Pick<RawToken, 'chainKey' | 'address'>;
interface Variables extends TokenKey {
  readonly keys: readonly TokenKey[];
  readonly representations: readonly TokenKey[];
}

const { tokens, chainByKey } = await readRows(process.argv[2] ?? '');
const textOf = ({ chainKey, address }: TokenKey) => `${chainKey} ${address.toLowerCase()}`;
const tokenByKey = new Map(tokens.map((token) => [textOf(token), token]));
const find = (key: TokenKey) => tokenByKey.get(textOf(key)) ?? null;

/** `__typename` everywhere, as Apollo Client asks for it. */
function one(token: RawToken | null) {
  if (!token) return null;
  const { symbol, name, decimals, price, chainKey } = token;
  const chain = chainByKey.get(chainKey);
  return {
    symbol,
    name,
    decimals,
    price: { usd: price.usd, __typename: 'Price' },
    chain: chain ? { name: chain.name, __typename: 'Chain' } : null,
    __typename: 'Token',
  };
}

function listItem(token: RawToken | null) {
  if (!token) return null;
  const { symbol, address, decimals, price, chainKey } = token;
  const chain = chainByKey.get(chainKey);
  const nativeCurrency = { symbol: chain?.nativeCurrency.symbol, __typename: 'NativeCurrency' };
  return {
    symbol,
    address,
    decimals,
    price: { usd: price.usd, __typename: 'Price' },
    chain: chain ? { name: chain.name, nativeCurrency, __typename: 'Chain' } : null,
    __typename: 'Token',
  };
}

function entity(token: RawToken | null) {
  if (!token) return null;
  const { symbol, name, decimals, price, chainKey } = token;
  const chain = chainByKey.get(chainKey);
  return { symbol, name, decimals, price: { usd: price.usd }, chain: chain ? { name: chain.name } : null };
}

const operations: Readonly<Record<string, (variables: Variables) => object>> = {
  One: (key) => ({ token: one(find(key)) }),
  ByKey: ({ keys }) => ({ tokensByKey: keys.map((key) => listItem(find(key))) }),
  Portfolio__tokens__1: ({ representations }) => ({
    _entities: representations.map((key) => entity(find(key))),
  }),
};

serveBodies((text, _request, response) => {
  const { operationName, variables } = JSON.parse(text) as {
    readonly operationName: string;
    readonly variables: Variables;
  };
  const operation = operations[operationName];
  if (!operation) {
    response.writeHead(404).end();
    return;
  }
  const body = Buffer.from(JSON.stringify({ data: operation(variables) }));
  const contentType = 'application/graphql-response+json; charset=utf-8';
  response.writeHead(200, { 'content-type': contentType, 'content-length': body.byteLength }).end(body);
});
