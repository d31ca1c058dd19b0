/** _entities finds chains and tokens by each key. A malformed representation is an error; the others are resolved. */
import { expect, it } from 'vitest';
import { idOf, USDC } from '../fixtures/rows.js';
import { type Answered, createTestGateway } from '../support/test-gateway.js';

const ZERO = `0x${'0'.repeat(40)}`;

const CAIP19 = `eip155:1/erc20:${USDC}`;

const ENTITIES = `query ($representations: [_Any!]!) {
  _entities(representations: $representations) {
    __typename
    ... on Chain { chainKey }
    ... on Token { chainKey address }
  }
}`;

interface Entities {
  readonly _entities: readonly ({ __typename: string; chainKey: string; address?: string } | null)[];
}

const chain = (chainKey: unknown) => ({ __typename: 'Chain', chainKey });
const token = (chainKey: unknown, address: unknown) => ({ __typename: 'Token', chainKey, address });
const chainById = (...parts: string[]) => ({ __typename: 'Chain', id: idOf('Chain', ...parts) });
const tokenById = (...parts: string[]) => ({ __typename: 'Token', id: idOf('Token', ...parts) });

const MALFORMED: Readonly<Record<string, unknown>> = {
  'a string': 'Chain',
  'a number': 7,
  'a list': [chain('base')],
  'without __typename': { chainKey: 'base' },
  'of a type that is no entity': { __typename: 'NativeCurrency', chainKey: 'base', address: ZERO },
  'of a type named like a member of every object': { __typename: '__proto__', chainKey: 'base' },
  'of a type in another case': { __typename: 'chain', chainKey: 'base' },
  'of a type that is no string': { __typename: ['Chain'], chainKey: 'base' },
  'a chain without a key': { __typename: 'Chain' },
  'a chain whose key is a number': chain(8453),
  'a chain whose key is null': chain(null),
  'a chain whose caip2 is null': { __typename: 'Chain', caip2: null },
  'a chain with the key of a token': { __typename: 'Chain', caip19: CAIP19 },
  'a chain whose id is a number': { __typename: 'Chain', id: 1 },
  'a token without a chain': { __typename: 'Token', address: USDC },
  'a token without an address': { __typename: 'Token', chainKey: 'ethereum' },
  'a token whose address is null': token('ethereum', null),
  'a token whose address is an object': token('ethereum', { toString: 'x' }),
  'a token whose id is null': { __typename: 'Token', id: null },
  'a token whose caip19 is a number': { __typename: 'Token', caip19: 7 },
};

const usdc = { __typename: 'Token', chainKey: 'ethereum', address: USDC };
const base = { __typename: 'Chain', chainKey: 'base' };

const FOUND: readonly (readonly [representation: object, entity: object | null])[] = [
  [token('ethereum', USDC), usdc],
  [chain('base'), base],
  [chain('nope'), null],
  [tokenById('ethereum', USDC), usdc],
  [chainById('base'), base],
  [chainById('nope'), null],
  [token('base', USDC), null],
  [chain('base'), base],
  [chain('BASE'), base],
  [chain('__proto__'), null],
  [{ __typename: 'Chain', id: 'never an id' }, null],
  [{ __typename: 'Chain', id: idOf('Token', 'ethereum', USDC) }, null],
  [{ __typename: 'Chain', caip2: 'eip155:8453' }, base],
  [{ __typename: 'Chain', caip2: 'eip155:999999999' }, null],
  [{ __typename: 'Token', caip19: CAIP19.toLowerCase() }, usdc],
  [{ __typename: 'Token', caip19: 'no identifier' }, null],
  // The first complete key counts. The chainKey alone is no complete key of a token.
  [{ ...tokenById('ethereum', USDC), chainKey: 'nope' }, usdc],
  [{ __typename: 'Token', caip19: CAIP19, chainKey: 'nope' }, usdc],
  [{ __typename: 'Chain', caip2: 'eip155:1', chainKey: 'base' }, base],
  [{ ...token('ethereum', USDC), id: 'left aside', symbol: 'and more' }, usdc],
];

it('_entities finds chains and tokens by each key, in the order of the representations; unknown ones are null without an error', async () => {
  const { query } = await createTestGateway();
  const representations = FOUND.map(([representation]) => representation);
  const entities = FOUND.map(([, entity]) => entity);
  expect(await query(ENTITIES, { representations })).toEqual({ data: { _entities: entities } });
});

it('_entities gives null and one error for a malformed representation, and resolves the others', async () => {
  const { query } = await createTestGateway();
  for (const [what, malformed] of Object.entries(MALFORMED)) {
    const representations = [chain('base'), malformed, chain('bsc')];
    const answer = await query<Entities>(ENTITIES, { representations });
    expect(answer.data, what).toEqual({ _entities: [chain('base'), null, chain('bsc')] });
    expect(answer.errors, what).toEqual([
      expect.objectContaining({
        path: ['_entities', 1],
        message: expect.stringMatching(/^A representation must .+, got .+\.$/),
        extensions: { code: 'BAD_USER_INPUT' },
      }),
    ]);
  }
});

it('_entities keeps messages short if malformed values are long, deep or frequent', async () => {
  const { fetch } = await createTestGateway();
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const places = '$long $deep '.repeat(100);
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{
        "query": "query ($long: _Any!, $deep: _Any!) { _entities(representations: [${places}]) { __typename } }",
        "variables": {
          "long": { "__typename": "${'x'.repeat(400_000)}" },
          "deep": { "__typename": "Chain", "chainKey": ${deep} }
        }
      }`,
  });
  const { data, errors } = (await response.json()) as Answered<Entities>;
  expect(data).toEqual({ _entities: Array(200).fill(null) });
  expect(errors).toHaveLength(200);
  for (const { message } of errors ?? []) expect(message.length).toBeLessThan(250);
});
