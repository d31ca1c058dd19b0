import fc from 'fast-check';
import {
  buildSchema,
  execute,
  GraphQLNonNull,
  getIntrospectionQuery,
  isNonNullType,
  isObjectType,
  parse,
  validate,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import type { ListingRows, Service } from '../../../src/domain/listing.js';
import { UpstreamError } from '../../../src/domain/upstream-error.js';
import { createContext } from '../../../src/graph/context.js';
import { withFederation } from '../../../src/graph/federation/federated.js';
import { schema as ownSchema, sdlOf } from '../../../src/graph/schema/index.js';
import { demoChains, demoTokens } from '../../fixtures/demo.js';
import { startFakeUpstream } from '../../support/fake-upstream.js';
import { operationsOf } from '../../support/generated-operations.js';
import { createTestGateway, createTestLog, defaultConfig } from '../../support/test-gateway.js';

const MARKED = [
  'Chain.tokenCount',
  'Chain.tokens',
  'Query.chainChanges',
  'Query.chains',
  'Query.tokenChanges',
  'Query.tokenSearch',
  'Query.tokens',
  'Token.destinations',
];

/** The marked fields of a schema file. */
function markedIn(sdl: string): readonly string[] {
  return Object.values(buildSchema(sdl).getTypeMap())
    .flatMap((type) =>
      isObjectType(type) ? Object.values(type.getFields()).map((field) => ({ type, field })) : [],
    )
    .filter(({ field }) => field.astNode?.directives?.some(({ name }) => name.value === 'semanticNonNull'))
    .map(({ type, field }) => `${type.name}.${field.name}`)
    .sort();
}

/** The schema as read by code generators that treat marked fields as non-null. */
const strict = withFederation(ownSchema);
for (const name of MARKED) {
  const [typeName = '', fieldName = ''] = name.split('.');
  const type = strict.getType(typeName);
  const field = isObjectType(type) ? type.getFields()[fieldName] : undefined;
  if (!field || isNonNullType(field.type)) throw new Error(`Expected a nullable field ${name}`);
  field.type = new GraphQLNonNull(field.type);
}

const TOKENS = demoTokens.slice(0, 40);

const down = () =>
  Promise.reject(new UpstreamError('UPSTREAM_TIMEOUT', 'The upstream did not answer in time.'));
const gone = () => Promise.reject(new UpstreamError('UPSTREAM_GONE', 'The upstream is gone.'));
const without = (failing: keyof ListingRows) => (service: Service) => ({
  fetch: ((name) => (name === failing ? down() : service.fetch(name))) as Service['fetch'],
});

/** The states of a gateway: a name, a change of its upstream service, and settings. */
const STATES: readonly (readonly [string, change: (service: Service) => Partial<Service>, config: object])[] =
  [
    ['all is well', () => ({}), {}],
    ['there is no chain listing yet', without('chains'), {}],
    ['there is no token listing yet', without('tokens'), {}],
    ['the upstream is gone', () => ({ fetch: gone, routes: gone }), {}],
    ['routes fail', () => ({ routes: down }), {}],
    ['an operation may ask for no routes', () => ({}), { maxRoutesPerOperation: 0 }],
  ];

/** A gateway that stays in this state. */
async function gatewayIn(change: (service: Service) => Partial<Service>, config: object) {
  const fresh = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000, upstreamRetries: 0 };
  return createTestGateway({
    upstream: await startFakeUpstream({ chains: demoChains, tokens: TOKENS }),
    config: { ...fresh, maxAliases: 1000, maxDepth: 100, maxQueryTokens: 100_000, ...config },
    firstPauseMs: 3_600_000,
    decorate: (listing) => ({ ...listing, source: listing.source, ...change(listing) }),
  });
}

describe('@semanticNonNull', () => {
  it('marks the same fields in schema.graphql and at /schema.graphql, and none in the SDL of a subgraph', async () => {
    const { fetch, query } = await createTestGateway();
    const file = await (await fetch('/schema.graphql')).text();
    expect(markedIn(file)).toEqual(MARKED);
    expect(file).toBe(sdlOf(ownSchema));
    const { data } = await query<{ _service: { sdl: string }; _sdl: string }>('{ _service { sdl } _sdl }');
    expect(data?._service.sdl).toContain('type Token');
    expect(data?._service.sdl).not.toContain('semanticNonNull');
    expect(data?._sdl).not.toContain('semanticNonNull');
  });

  it('is listed by introspection', async () => {
    const { query } = await createTestGateway();
    const { data } = await query<{ __schema: { directives: { name: string; locations: string[] }[] } }>(
      getIntrospectionQuery(),
    );
    expect(data?.__schema.directives).toContainEqual(
      expect.objectContaining({ name: 'semanticNonNull', locations: ['FIELD_DEFINITION'] }),
    );
  });
});

it.each(STATES)(
  'while %s, marked fields are never null without an error, in any operation',
  async (_state, change, config) => {
    const { query, snapshots } = await gatewayIn(change, config);
    await query('{ chains { name } tokens { name } }');
    const { log } = await createTestLog();
    const limits = { maxCost: 1e9, maxRows: 1e7, unitsOfWholeToken: 30 };
    const options = { ...defaultConfig(), ...limits, ...config, snapshots, log };
    let executed = 0;
    await fc.assert(
      fc.asyncProperty(operationsOf({ hasRoutes: 'often' }), async ({ query, variables, operationName }) => {
        const document = parse(query);
        if (validate(strict, document).length > 0) return;
        const { errors = [] } = await execute({
          schema: strict,
          document,
          variableValues: { ...variables },
          operationName: operationName ?? null,
          contextValue: createContext(options, { client: undefined, yieldToQueue: async () => {} }),
        });
        executed++;
        const messages = errors.map(({ message }) => message);
        expect(messages.filter((message) => message.startsWith('Cannot return null'))).toEqual([]);
      }),
      { numRuns: 100 },
    );
    expect(executed).toBeGreaterThan(50);
  },
);
