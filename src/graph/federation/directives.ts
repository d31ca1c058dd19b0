import {
  type ConstDirectiveNode,
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  type ObjectTypeDefinitionNode,
  parse,
  visit,
} from 'graphql';
import { sdlOf } from '../schema/sdl.js';

/** A variant of the SDL for one way of composing graphs: the directives to add, and what to leave out. */
export interface Flavour {
  /** Definitions at the beginning of the document. */
  readonly prelude: string;
  /** Directives to add to types, by type name. */
  readonly types: Readonly<Record<string, string>>;
  /** Directives to add to fields, by `Type.field`. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Types and fields (`Type.field`) to leave out. */
  readonly without?: readonly string[];
}

/**
 * The schema as a document in this flavour, sorted and with descriptions.
 *
 * @throws Error if the flavour names a type or field that the schema does not have, such as after a renaming
 */
export function withDirectives(schema: GraphQLSchema, flavour: Flavour): DocumentNode {
  const { types, fields = {}, without = [] } = flavour;
  const seen = new Set<string>();

  function isKept(name: string): boolean {
    seen.add(name);
    return !without.includes(name);
  }

  function inFlavour(type: ObjectTypeDefinitionNode): ObjectTypeDefinitionNode {
    const { name, interfaces = [], directives = [] } = type;
    const nameOf = (field: { readonly name: { readonly value: string } }) =>
      `${name.value}.${field.name.value}`;
    return {
      ...type,
      interfaces: interfaces.filter((known) => !without.includes(known.name.value)),
      directives: [...directives, ...directivesOf(types[name.value])],
      fields: (type.fields ?? [])
        .filter((field) => isKept(nameOf(field)))
        .map((field) => ({
          ...field,
          directives: [...(field.directives ?? []), ...directivesOf(fields[nameOf(field)])],
        })),
    };
  }

  const document = visit(parse(sdlOf(schema)), {
    ObjectTypeDefinition: (type) => (isKept(type.name.value) ? inFlavour(type) : null),
    InterfaceTypeDefinition: (type) => (isKept(type.name.value) ? undefined : null),
  });
  const named = [...Object.keys(types), ...Object.keys(fields), ...without];
  const unknown = named.filter((name) => !seen.has(name));
  if (unknown.length > 0) throw new Error(`The schema lacks: ${unknown.join(', ')}`);
  return {
    kind: Kind.DOCUMENT,
    definitions: [...parse(flavour.prelude).definitions, ...document.definitions],
  };
}

function directivesOf(written = ''): readonly ConstDirectiveNode[] {
  const [definition] = parse(`type T ${written} { f: Int }`).definitions;
  return (definition?.kind === Kind.OBJECT_TYPE_DEFINITION && definition.directives) || [];
}
