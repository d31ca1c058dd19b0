/** The schema as other graphs compose it: as a subgraph of Federation, and as a subschema for stitching. */
import {
  type ConstDirectiveNode,
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  type ObjectTypeDefinitionNode,
  parse,
  print,
  visit,
} from 'graphql';
import { plainSdlOf } from '../schema/index.js';

/** The estimated cost of a field with routes, which can cost the upstream a request. Other fields read snapshots. */
const ROUTES = '@cost(weight: 100) @listSize(assumedSize: 100)';

/**
 * The schema as a Federation 2 subgraph: Chain and Token are entities, and value types are shareable. `Node` and its
 * queries are left out, because in a supergraph an id does not tell which subgraph it is from.
 *
 * The SDL links the newest version of Federation that all common composers support. The list sizes are estimates, with
 * which a router can refuse expensive operations.
 */
export function subgraphSdlOf(schema: GraphQLSchema): string {
  const document = withDirectives(schema, {
    prelude:
      'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@cost", "@key", "@listSize", "@shareable"])',
    types: {
      Chain: '@key(fields: "chainKey") @key(fields: "id") @key(fields: "caip2")',
      Token: '@key(fields: "chainKey address") @key(fields: "id") @key(fields: "caip19")',
      HeldBackFact: '@shareable',
      NativeCurrency: '@shareable',
      Price: '@shareable',
      PageInfo: '@shareable',
    },
    fields: {
      'Chain.tokens': '@listSize(assumedSize: 50)',
      'Query.chains': '@listSize(assumedSize: 200)',
      'Query.destinations': ROUTES,
      'Query.listings': '@listSize(assumedSize: 2)',
      'Query.tokens': '@listSize(assumedSize: 1000)',
      'Query.tokenSearch':
        '@listSize(slicingArguments: ["first"], sizedFields: ["edges", "nodes"], requireOneSlicingArgument: false)',
      'Token.destinations': ROUTES,
    },
    without: ['Node', 'Query.node', 'Query.nodes'],
  });
  return `${print(document)}\n`;
}

/** The directives of `@graphql-tools/stitching-directives` that this graph uses. */
const PRELUDE = `
directive @canonical on OBJECT | INTERFACE | INPUT_OBJECT | UNION | ENUM | SCALAR | FIELD_DEFINITION | INPUT_FIELD_DEFINITION
directive @key(selectionSet: String!) on OBJECT
directive @merge(argsExpr: String, keyArg: String, keyField: String, key: [String!], additionalArgs: String) on FIELD_DEFINITION
`;

/**
 * The schema as a subschema for stitching: Chain and Token are merged by key look-ups, and their descriptions win
 * over those of other subschemas.
 */
export function stitchingSdlOf(schema: GraphQLSchema): string {
  const document = withDirectives(schema, {
    prelude: PRELUDE,
    types: {
      // Chain has no @key: stitching would add that key to each look-up by another key, and then need both keys.
      Chain: '@canonical',
      Token: '@canonical @key(selectionSet: "{ chainKey address }")',
    },
    fields: {
      'Query.chainsByCaip2': '@merge(keyField: "caip2")',
      'Query.chainsByKey': '@merge(keyField: "chainKey")',
      'Query.tokensByKey': '@merge(key: ["chainKey", "address"], keyArg: "keys")',
    },
  });
  return `${print(document)}\n`;
}

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
 * Returns the syntax tree of the GraphQL schema in one flavour: with descriptions, and sorted by name.
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

  const document = visit(parse(plainSdlOf(schema)), {
    // Leaves out the directive @semanticNonNull, which this SDL does not use.
    DirectiveDefinition: () => null,
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
