import fc from 'fast-check';
import {
  type GraphQLField,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { schema } from '../src/schema/index.js';
import { demoChains, demoTokens } from './fixtures/demo.js';
import { startFakeUpstream, text } from './support/fake-upstream.js';
import { createTestGateway } from './support/test-gateway.js';

const keys = fc.constantFrom('ethereum', 'base', 'solana', 'nope', '');
const addresses = fc.constantFrom(...demoTokens.slice(0, 5).map(({ address }) => address), 'nope');

const ORDERS = ['RELEVANCE', 'SYMBOL', 'NAME', 'PRICE_DESC', 'PRICE_ASC'];

/** A value as GraphQL writes it. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value).map(([name, inner]) => `${name}: ${literal(inner)}`)} }`;
  }
  return ORDERS.includes(String(value)) ? String(value) : JSON.stringify(value);
}

/** Valid arguments for a field, none of which asks for routes. */
function argumentsOf(field: GraphQLField<unknown, unknown>): fc.Arbitrary<string> {
  const values: Record<string, fc.Arbitrary<unknown>> = {
    search: fc.constantFrom(null, '', 'eth', 'kaia'),
    chainTypes: fc.constantFrom(null, [], ['evm'], ['SOLANA', 'x']),
    srcChainKey: fc.option(keys),
    chainKey: keys,
    address: addresses,
    chainKeys: fc.array(keys),
    keys: fc.array(fc.record({ chainKey: keys, address: addresses })),
    id: fc.constantFrom('', 'nope', 'WyJDaGFpbiIsImV0aGVyZXVtIl0'),
    ids: fc.array(fc.constantFrom('nope', 'WyJDaGFpbiIsImV0aGVyZXVtIl0')),
    query: fc.constantFrom(null, '', 'eth', 'usdc base', 'nope'),
    filter: fc.option(
      fc.record(
        {
          chainKeys: fc.array(keys),
          chainTypes: fc.constantFrom([], ['EVM']),
          symbols: fc.constantFrom(['usdc', 'ETH'], null),
          isBridgeable: fc.boolean(),
          isNative: fc.boolean(),
          hasPrice: fc.boolean(),
          minPriceUsd: fc.constantFrom(0, 1.5),
          maxPriceUsd: fc.constantFrom(1, 1e9),
        },
        { requiredKeys: [] },
      ),
    ),
    orderBy: fc.constantFrom(...ORDERS),
    first: fc.constantFrom(null, 1, 100),
  };
  const chosen = field.args
    .filter(({ name }) => name !== 'srcToken')
    .map(({ name, type }) => {
      const given = (values[name] ?? fc.constant(null)).map((value) => `${name}: ${literal(value)}`);
      return isNonNullType(type) ? given : fc.option(given, { nil: '' });
    });
  if (chosen.length === 0) return fc.constant('');
  return fc.tuple(...chosen).map((parts) => {
    const text = parts.filter(Boolean).join(', ');
    return text && `(${text})`;
  });
}

/** A selection set of this type, with aliases, of which lists in lists are few. */
function selectionOf(typeName: string, listsLeft: number): fc.Arbitrary<string> {
  const type = schema.getType(typeName);
  if (isInterfaceType(type)) {
    const inner = fc.tuple(selectionOf('Chain', listsLeft), selectionOf('Token', listsLeft));
    // Aliases of one name must mean the same on either type.
    return inner.map(
      ([chain, token]) =>
        `id ... on Chain { ${chain} } ... on Token { ${token.replace(/\bf(\d+):/g, 't$1:')} }`,
    );
  }
  if (!isObjectType(type)) throw new Error(`Expected an object type, got ${typeName}`);
  const fields = Object.values(type.getFields())
    .filter(({ name }) => name !== 'destinations')
    .filter((field) => isLeafType(getNamedType(field.type)) || listsLeft > 0)
    .map((field) => {
      const below = getNamedType(field.type);
      const isList = isListType(isNonNullType(field.type) ? field.type.ofType : field.type);
      const selection = isLeafType(below)
        ? fc.constant('')
        : selectionOf(below.name, listsLeft - (isList ? 1 : 0.5)).map((inner) => ` { ${inner} }`);
      return fc.tuple(argumentsOf(field), selection).map(([args, inner]) => `${field.name}${args}${inner}`);
    });
  return fc
    .array(fc.oneof(...fields), { minLength: 1, maxLength: 4 })
    .map((chosen) => chosen.map((field, index) => `f${index}: ${field}`).join(' '));
}

describe('properties', () => {
  it('any valid query without srcToken costs the upstream at most two requests, and then none', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(selectionOf('Query', 2), { minLength: 1, maxLength: 3 }),
        async (selections) => {
          const upstream = await startFakeUpstream({
            chains: demoChains.slice(0, 20),
            tokens: demoTokens.slice(0, 60),
          });
          const { query } = await createTestGateway({ upstream, config: { maxAliases: 10_000 } });
          const answers = await Promise.all(selections.map((selection) => query(`{ ${selection} }`)));
          for (const { errors } of answers) expect(errors).toBeUndefined();
          const cold = upstream.seen.map(({ path }) => path);
          expect(cold).toEqual([...new Set(cold)]);
          for (const selection of selections) await query(`{ ${selection} }`);
          await query('{ chains { name } tokens { name } }');
          expect(upstream.count()).toBe(2);
          await upstream.close();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('no answer of the upstream, whatever JSON it is, crashes the process or replaces a good snapshot', async () => {
    const good = { chains: demoChains.slice(0, 3), tokens: demoTokens.slice(0, 3) };
    const rows = fc.array(
      fc.oneof(
        fc.jsonValue(),
        fc.constantFrom(...demoTokens.slice(0, 2)).map((row) => ({ ...row, decimals: '6' })),
      ),
    );
    const bodies = fc.oneof(
      fc.jsonValue(),
      rows.map((tokens) => ({ tokens })),
      rows.map((chains) => ({ chains })),
      fc.jsonValue().map((tokens) => ({ tokens, chains: tokens })),
    );
    await fc.assert(
      fc.asyncProperty(bodies, async (body) => {
        const upstream = await startFakeUpstream(good);
        const { query, snapshots } = await createTestGateway({
          upstream,
          config: { chainsFreshMs: 1, tokensFreshMs: 1 },
          firstPauseMs: 1,
        });
        const everything = '{ chains { chainKey chainId } tokens { address decimals } }';
        const before = await query(everything);
        expect(before.errors).toBeUndefined();
        upstream.plan('chains', text(JSON.stringify(body)));
        upstream.plan('tokens', text(JSON.stringify(body)));
        await expect
          .poll(() => snapshots.status(Date.now()).every(({ lastFailure }) => lastFailure), { interval: 2 })
          .toBe(true);
        for (const { lastFailure } of snapshots.status(Date.now())) {
          expect(lastFailure?.code).toBe('UPSTREAM_MALFORMED');
        }
        expect(await query(everything)).toEqual(before);
        snapshots.stop();
        await upstream.close();
      }),
      { numRuns: 100 },
    );
  });
});
