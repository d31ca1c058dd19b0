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
 * What of a released SDL a new one no longer promises, in one line each: what is removed or narrowed, and what
 * other graphs build on: the directives of types and fields.
 */
export function breakingChanges(released: string, now: string): readonly string[] {
  // The definitions of federation's directives are behind its link.
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

/** Such as `Chain @key(fields: "id")`; what only estimates a cost is no promise. */
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
