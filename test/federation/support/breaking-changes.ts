/** Finds the breaking changes between two schemas, lost directives included. */
import {
  buildSchema,
  type ConstDirectiveNode,
  findBreakingChanges,
  Kind,
  type ObjectTypeDefinitionNode,
  parse,
  print,
} from 'graphql';

/**
 * The breaking changes from a released SDL to a new one, one line each: removed or narrowed parts, and removed
 * directives of types and fields, which other graphs rely on.
 */
export function breakingChanges(released: string, now: string): readonly string[] {
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

/** The directives, such as `Chain @key(fields: "id")`, without deprecations and cost estimates, which may change. */
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
