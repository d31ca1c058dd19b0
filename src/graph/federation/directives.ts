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

/** What one flavour of SDL says of the graph beyond the types themselves. */
export interface Flavour {
  /** Definitions that come first. */
  readonly prelude: string;
  /** The directives of types, as they are written behind their names. */
  readonly types: Readonly<Record<string, string>>;
  /** The same of fields, by `Type.field`. */
  readonly fields?: Readonly<Record<string, string>>;
  /** Types and fields (`Type.field`) that are left out. */
  readonly without?: readonly string[];
}

/**
 * The schema as a document, sorted and with its descriptions, in this flavour.
 *
 * @throws Error where the flavour names what the schema does not have: it would say less than it seems to
 */
export function withDirectives(schema: GraphQLSchema, flavour: Flavour): DocumentNode {
  const { types, fields = {}, without = [] } = flavour;
  const met = new Set<string>();

  function isKept(name: string): boolean {
    met.add(name);
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
  const unmet = named.filter((name) => !met.has(name));
  if (unmet.length > 0) throw new Error(`Expected in the schema: ${unmet.join(', ')}`);
  return {
    kind: Kind.DOCUMENT,
    definitions: [...parse(flavour.prelude).definitions, ...document.definitions],
  };
}

function directivesOf(written = ''): readonly ConstDirectiveNode[] {
  const [definition] = parse(`type T ${written} { f: Int }`).definitions;
  return (definition?.kind === Kind.OBJECT_TYPE_DEFINITION && definition.directives) || [];
}
