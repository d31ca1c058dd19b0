/** Fields marked with @semanticNonNull are never null without an error. */
import fc from 'fast-check';
import {
  buildSchema,
  GraphQLNonNull,
  getIntrospectionQuery,
  introspectionFromSchema,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { expect, it } from 'vitest';
import type { ListingRows, Service } from '../../../src/domain/listing.js';
import { UpstreamError } from '../../../src/domain/upstream-error.js';
import { withFederation } from '../../../src/graph/federation/federated.js';
import { schema as ownSchema, schema, sdlOf } from '../../../src/graph/schema/index.js';
import { demoTokens } from '../../fixtures/demo.js';
import { operationsOf } from '../../support/generated-operations.js';
import { createTestGateway, dataOf } from '../../support/test-gateway.js';
import { createExecutor } from '../executor.js';

const MARKED =
  'Chain.tokenCount Chain.tokens Query.chainChanges Query.chains Query.tokenChanges Query.tokenSearch Query.tokens Token.destinations'.split(
    ' ',
  );

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

const down = () =>
  Promise.reject(new UpstreamError('UPSTREAM_TIMEOUT', 'The upstream did not answer in time.'));
const gone = () => Promise.reject(new UpstreamError('UPSTREAM_GONE', 'The upstream is gone.'));
const without = (failing: keyof ListingRows) => (service: Service) => ({
  fetch: ((name) => (name === failing ? down() : service.fetch(name))) as Service['fetch'],
});

const STATES: readonly (readonly [string, change: (service: Service) => Partial<Service>, config: object])[] =
  [
    ['all is well', () => ({}), {}],
    ['there is no chain listing yet', without('chains'), {}],
    ['there is no token listing yet', without('tokens'), {}],
    ['the upstream is gone', () => ({ fetch: gone, routes: gone }), {}],
    ['routes fail', () => ({ routes: down }), {}],
    ['an operation may ask for no routes', () => ({}), { maxRoutesPerOperation: 0 }],
  ];

it('@semanticNonNull marks the same fields in schema.graphql and at /schema.graphql, and none in the SDL of a subgraph', async () => {
  const { fetch, query } = await createTestGateway();
  const file = await (await fetch('/schema.graphql')).text();
  expect(markedIn(file)).toEqual(MARKED);
  expect(file).toBe(sdlOf(ownSchema));
  const sdls = await dataOf(query<{ _service: { sdl: string }; _sdl: string }>('{ _service { sdl } _sdl }'));
  expect(sdls._service.sdl).toContain('type Token');
  expect(sdls._service.sdl + sdls._sdl).not.toContain('semanticNonNull');
  const { __schema } = await dataOf(query<{ __schema: { directives: object[] } }>(getIntrospectionQuery()));
  const directive = { name: 'semanticNonNull', locations: ['FIELD_DEFINITION'] };
  expect(__schema.directives).toContainEqual(expect.objectContaining(directive));
});

it.each(STATES)('marked fields are never null without an error while %s', async (_state, change, config) => {
  const fresh = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000, upstreamRetries: 0 };
  const gateway = await createTestGateway({
    listings: { tokens: demoTokens.slice(0, 40) },
    config: { ...fresh, maxAliases: 1000, maxDepth: 100, maxQueryTokens: 100_000, ...config },
    firstPauseMs: 3_600_000,
    decorate: (listing) => ({ ...listing, source: listing.source, ...change(listing) }),
    hasListings: true,
  });
  const execute = await createExecutor(gateway, config, strict);
  let executed = 0;
  await fc.assert(
    fc.asyncProperty(operationsOf({ hasRoutes: 'often' }), async (operation) => {
      const result = await execute(operation);
      if (!result) return;
      executed++;
      const messages = (result.errors ?? []).map(({ message }) => message);
      expect(messages.filter((message) => message.startsWith('Cannot return null'))).toEqual([]);
    }),
    { numRuns: 50 },
  );
  expect(executed).toBeGreaterThan(25);
});

function* described(value: unknown): Generator<readonly [name: string, description: string]> {
  if (typeof value !== 'object' || value === null) return;
  const { name = '', description } = value as { name?: string; description?: string | null };
  if (description !== undefined) yield [name, description ?? ''];
  for (const member of Object.values(value)) yield* described(member);
}

it('the schema describes every type, field, argument and value in more than two words', () => {
  const { types } = introspectionFromSchema(schema).__schema;
  const all = [...described(types.filter(({ name }) => !name.startsWith('__')))];
  expect(all.length).toBeGreaterThan(150);
  expect(all.filter(([, description]) => description.trim().split(/\s+/).length < 3)).toEqual([]);
});
