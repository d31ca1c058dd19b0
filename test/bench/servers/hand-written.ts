/**
 * The floor: a handler on `node:http` that knows no GraphQL, but the few operations that it is asked by their names.
 * It parses the request, finds the rows in Maps, builds the answer as an object, and sends it as JSON:
 * `hand-written.js <upstream>`.
 */
import { createServer } from 'node:http';
import type { RawChain, RawToken } from '../../fixtures/demo.js';
import { idOfChain, idOfToken, isNative, startedAt } from './graph.js';
import { createMemoryReads, type TokenKey } from './reads.js';
import { serve } from './serve.js';

interface Variables {
  readonly chainKey: string;
  readonly address: string;
  readonly keys: readonly TokenKey[];
  readonly representations: readonly TokenKey[];
  readonly srcChainKey: string;
  /** The key of a chain that is not listed. */
  readonly other: string;
}

const reads = await createMemoryReads(process.argv[2] ?? '');

function one(token: RawToken | null) {
  if (!token) return null;
  const { symbol, name, decimals, price, chainKey } = token;
  return {
    symbol,
    name,
    decimals,
    price: { usd: price.usd, __typename: 'Price' },
    chain: withName(reads.chain(chainKey)),
    __typename: 'Token',
  };
}

function withName(chain: RawChain | null) {
  return chain ? { name: chain.name, __typename: 'Chain' } : null;
}

function listItem(token: RawToken | null) {
  if (!token) return null;
  const { symbol, address, decimals, price, chainKey } = token;
  const chain = reads.chain(chainKey);
  return {
    symbol,
    address,
    decimals,
    price: { usd: price.usd, __typename: 'Price' },
    chain: chain && {
      name: chain.name,
      nativeCurrency: { symbol: chain.nativeCurrency.symbol, __typename: 'NativeCurrency' },
      __typename: 'Chain',
    },
    __typename: 'Token',
  };
}

function entity(token: RawToken | null) {
  if (!token) return null;
  const { symbol, name, decimals, price, chainKey } = token;
  const chain = reads.chain(chainKey);
  return { symbol, name, decimals, price: { usd: price.usd }, chain: chain && { name: chain.name } };
}

function wholeToken(token: RawToken) {
  const { address, chainKey, decimals, isBridgeable, name, symbol, price } = token;
  const chain = reads.chain(chainKey);
  return {
    id: idOfToken(token),
    address,
    chainKey,
    decimals,
    isBridgeable,
    isNative: isNative(token),
    name,
    symbol,
    price: { usd: price.usd, asOf: startedAt, __typename: 'Price' },
    chain: chain && {
      id: idOfChain(chain),
      chainKey: chain.chainKey,
      chainId: chain.chainId,
      chainType: chain.chainType,
      name: chain.name,
      shortName: chain.shortName,
      __typename: 'Chain',
    },
    __typename: 'Token',
  };
}

const operations: Readonly<Record<string, (variables: Variables) => object>> = {
  One: (key) => ({ token: one(reads.token(key)) }),
  ByKey: ({ keys }) => ({ tokensByKey: keys.map((key) => listItem(reads.token(key))) }),
  Portfolio__tokens__1: ({ representations }) => ({
    _entities: representations.map((key) => entity(reads.token(key))),
  }),
  Q2V: ({ other }) => ofChain('ethereum', other),
  Q3V: ({ other }) => ({
    tokens: reads.tokens(undefined).map(wholeToken),
    chain: withName(reads.chain(other)),
  }),
  Q4V: ({ srcChainKey, other }) => ofChain(srcChainKey, other),
};

function ofChain(chainKey: string, other: string) {
  return {
    tokens: reads.tokens(chainKey).map(listItem),
    chain: withName(reads.chain(other)),
  };
}

serve(
  createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { operationName, variables } = JSON.parse(Buffer.concat(chunks).toString()) as {
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
  }),
);
