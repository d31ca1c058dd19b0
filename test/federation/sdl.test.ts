/** The SDLs for Federation and for stitching agree with the schema and have the directives that routers need. */
import {
  buildSchema,
  getIntrospectionQuery,
  isInterfaceType,
  isNonNullType,
  isObjectType,
  Kind,
  parse,
  print,
} from 'graphql';
import { expect, it } from 'vitest';
import { schema, sdlOf, withMarks } from '../../src/graph/schema/index.js';
import { PRINTED_FILES } from '../../src/packaging/printed-files.js';
import { share } from '../support/ends.js';
import { readText } from '../support/readme.js';
import { codesOf, createTestGateway } from '../support/test-gateway.js';

const SDLS = '{ __typename _service { sdl } _sdl }';

interface Sdls {
  readonly _service: { readonly sdl: string };
  readonly _sdl: string | null;
}

const sdls = share(async (atEnd) => {
  const { query } = await createTestGateway({ atEnd });
  const { data } = await query<Sdls>(SDLS);
  return { subgraph: data?._service.sdl ?? '', stitching: data?._sdl ?? '' };
});

const typesOf = (sdl: string) =>
  parse(sdl).definitions.flatMap((definition) =>
    'name' in definition && definition.kind !== 'DirectiveDefinition' ? [definition.name?.value] : [],
  );

// `released.test.ts` checks the directives that the last release had.
it('the SDL has the directives that are newer than the release', () => {
  const lines = [...sdls.subgraph.split('\n'), ...sdls.stitching.split('\n')];
  for (const line of [
    'type Chain @key(fields: "chainKey") @key(fields: "id") @key(fields: "caip2") {',
    'type Token @key(fields: "chainKey address") @key(fields: "id") @key(fields: "caip19") {',
    'type HeldBackFact @shareable {',
    '  ): [Chain]! @merge(keyField: "caip2")',
  ])
    expect(lines).toContain(line);
});

it('the SDL leaves out Node for Federation, and is a schema of its own for stitching', () => {
  expect(typesOf(sdls.subgraph)).not.toContain('Node');
  expect(sdls.subgraph).not.toMatch(/^ {2}(nodes?\(|_)/m);
  expect(() => buildSchema(sdls.stitching)).not.toThrow();
});

it('the SDL agrees with schema.graphql', () => {
  const withoutDirectives = (sdl: string) => {
    const definitions = parse(sdl).definitions.filter(({ kind }) => kind !== 'DirectiveDefinition');
    const plain = print({ kind: Kind.DOCUMENT, definitions });
    return plain.replace(/ @(?!specifiedBy|deprecated)\w+(\([^)]*\))?/g, '');
  };
  const file = readText('schema.graphql');
  expect(withoutDirectives(sdls.stitching)).toBe(withoutDirectives(file));
  expect(file).not.toMatch(/\b_\w+[({:]/);
});

it('the SDL is written to files by `npm run schema`', () => {
  expect(PRINTED_FILES['build/subgraph.graphql']?.()).toBe(sdls.subgraph);
  expect(PRINTED_FILES['build/stitching.graphql']?.()).toBe(sdls.stitching);
});

it('without introspection, the SDL for Federation can be read, and no other description of the schema', async () => {
  const { query } = await createTestGateway({ config: { introspection: false } });
  const { data, errors } = await query<Sdls>(SDLS);
  expect(errors).toBeUndefined();
  expect(data?._sdl).toBeNull();
  expect(data?._service.sdl).toBe(sdls.subgraph);
  const introspected = await query(getIntrospectionQuery());
  expect(introspected).not.toHaveProperty('data');
  expect(new Set(codesOf(introspected))).toEqual(new Set(['GRAPHQL_VALIDATION_FAILED']));
});

it('the SDL fails for a directive on an unknown type', () => {
  const named = (name: string) => () => withMarks(sdlOf(schema), new Map([[name, '@x']]));
  expect(named('Chain')).not.toThrow();
  expect(named('Chian')).toThrow('The schema lacks: Chian');
});

it.each(['chain', 'token', 'node'])('the look-up %s has the signature that @lookup needs', (name) => {
  const field = schema.getQueryType()?.getFields()[name];
  if (!isObjectType(field?.type) && !isInterfaceType(field?.type)) throw new Error('It must be nullable');
  const ofType = field.type.getFields();
  expect(field.args.length).toBeGreaterThan(0);
  for (const argument of field.args) {
    expect(isNonNullType(argument.type)).toBe(true);
    expect(String(ofType[argument.name]?.type)).toBe(String(argument.type));
  }
});
