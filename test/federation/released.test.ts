/** No schema file has a breaking change against the released one, except the intended ones. */
import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type ConstDirectiveNode,
  findBreakingChanges,
  Kind,
  type ObjectTypeDefinitionNode,
  parse,
  print,
} from 'graphql';
import { expect, it } from 'vitest';
import { stitchingSdlOf, subgraphSdlOf } from '../../src/graph/federation/sdl.js';
import { schema, sdlOf } from '../../src/graph/schema/index.js';

/**
 * Intended breaking changes since the release, in the words of the failing test. Empty these lists at each release,
 * when `schema.graphql` and the SDLs in `build` are copied to `test/federation/released`.
 */
const INTENDED_BREAKING_CHANGES: Readonly<Record<string, readonly string[]>> = {
  'schema.graphql': ['Token.destinations changed type from [Token!] to [ChainDestinations!].'],
  'subgraph.graphql': ['Token.destinations changed type from [Token!] to [ChainDestinations!].'],
  'stitching.graphql': [
    'Token.destinations changed type from [Token!] to [ChainDestinations!].',
    // Each look-up now names its own keys. Stitching would add a key of the whole type to each look-up.
    'Chain @key(selectionSet: "{ chainKey }") was removed.',
  ],
};

const NOW: Readonly<Record<string, string>> = {
  'schema.graphql': sdlOf(schema),
  'subgraph.graphql': subgraphSdlOf(schema),
  'stitching.graphql': stitchingSdlOf(schema),
};

const released = (file: string) => readFileSync(new URL(`released/${file}`, import.meta.url), 'utf8');

it.each(Object.keys(NOW))('%s has no breaking changes except the intended ones', (file) => {
  const hint = `If a change is intended, add it to INTENDED_BREAKING_CHANGES['${file}'] here, then run \`npm run schema\`.`;
  expect(breakingChanges(released(file), NOW[file] ?? ''), hint).toEqual(INTENDED_BREAKING_CHANGES[file]);
});

it('a schema that loses a directive of a field has a breaking change', () => {
  const now = NOW['stitching.graphql'] ?? '';
  const changed = now.replace(' @merge(keyField: "chainKey")', '');
  const lost = 'Query.chainsByKey @merge(keyField: "chainKey") was removed.';
  expect(breakingChanges(now, changed)).toEqual([lost]);
});

/** Removed or narrowed parts, and removed directives of types and fields, which other graphs rely on. */
function breakingChanges(released: string, now: string): readonly string[] {
  // The SDL is not validated: it uses directives of Federation, which it does not define but imports by `@link`.
  const [before, after] = [released, now].map((sdl) => buildSchema(sdl, { assumeValidSDL: true }));
  if (!before || !after) throw new Error('Expected two SDLs');
  const kept = new Set(appliedDirectives(now));
  return [
    ...findBreakingChanges(before, after).map(({ description }) => description),
    ...appliedDirectives(released)
      .filter((applied) => !kept.has(applied))
      .map((applied) => `${applied} was removed.`),
  ];
}

/** The directives of types and fields, such as `Chain @key(fields: "id")`. Deprecations and costs may change: left out. */
function appliedDirectives(sdl: string): readonly string[] {
  return objectTypesOf(sdl).flatMap(({ name, directives, fields = [] }) => [
    ...written(name.value, directives),
    ...fields.flatMap((field) => written(`${name.value}.${field.name.value}`, field.directives)),
  ]);
}

function objectTypesOf(sdl: string): readonly ObjectTypeDefinitionNode[] {
  return parse(sdl).definitions.filter((definition) => definition.kind === Kind.OBJECT_TYPE_DEFINITION);
}

function written(where: string, directives: readonly ConstDirectiveNode[] = []): readonly string[] {
  return directives
    .filter(({ name }) => !['cost', 'deprecated', 'listSize'].includes(name.value))
    .map((directive) => `${where} ${print(directive)}`);
}
