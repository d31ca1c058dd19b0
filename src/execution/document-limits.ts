import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import type { ErrorCode } from '../domain/error-codes.js';
import { TEXT_LIMITS } from '../domain/text-limits.js';

export interface DocumentLimits {
  /** Levels of fields, including leaves. An operation of only introspection fields is exempt. */
  readonly maxDepth: number;
  /** Aliases of one operation. Those of a fragment count once for each spread. */
  readonly maxAliases: number;
  /** Lexical tokens of the whole document, and fields of one operation with its fragments expanded. */
  readonly maxQueryTokens: number;
}

/**
 * The errors of a document whose operations are too deep, have too many aliases or too many fields.
 *
 * To be used before validation: fragments that spread each other can multiply, and the cost of validation and execution
 * grows with the number of expanded fields, not with the length of the document.
 */
export function limitErrors(document: DocumentNode, limits: DocumentLimits): readonly GraphQLError[] {
  const { maxDepth, maxAliases, maxQueryTokens } = limits;
  const measure = createMeasure(document);
  return document.definitions.flatMap((operation) => {
    if (operation.kind !== Kind.OPERATION_DEFINITION) return [];
    const { depth, aliases, fields } = measure(operation.selectionSet);
    const checks = [
      ['levels of fields', 'MAX_DEPTH', maxDepth, isIntrospection(operation) ? 0 : depth],
      ['aliases', 'MAX_ALIASES', maxAliases, aliases],
      ['fields, its fragments spread', 'MAX_QUERY_TOKENS', maxQueryTokens, fields],
    ] as const;
    return checks
      .filter(([, , limit, actual]) => actual > limit)
      .map(([unit, setting, limit, actual]) => limitExceeded(unit, setting, limit, actual, operation));
  });
}

/** The error of a document with more lexical tokens than this. */
export function tooManyTokens(limit: number): GraphQLError {
  return limitExceeded('tokens', 'MAX_QUERY_TOKENS', limit, 'more');
}

/** The error of a document with a name beyond its limit. */
export function nameTooLong(): GraphQLError {
  return refusal(
    `Expected names of at most ${TEXT_LIMITS.name} characters in the document, such as aliases; got a longer one.`,
  );
}

function limitExceeded(
  unit: string,
  setting: string,
  limit: number,
  actual: number | 'more',
  operation?: OperationDefinitionNode,
): GraphQLError {
  const message = `An operation may have at most ${limit} ${unit} (${setting}); this one has ${actual}.`;
  return refusal(message, operation);
}

function refusal(message: string, operation?: OperationDefinitionNode): GraphQLError {
  return new GraphQLError(message, {
    nodes: operation ?? null,
    extensions: { code: 'LIMIT_EXCEEDED' satisfies ErrorCode, http: { spec: true, status: 400 } },
  });
}

interface Measures {
  readonly depth: number;
  readonly aliases: number;
  readonly fields: number;
}

const NOTHING: Measures = { depth: 0, aliases: 0, fields: 0 };

/**
 * Measures selection sets of one document. Each fragment is measured only once, so the work grows with the length of
 * the document. A fragment that spreads itself adds nothing: a validation rule refuses it.
 */
function createMeasure(document: DocumentNode): (selectionSet: SelectionSetNode) => Measures {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const measured = new Map<string, Measures>();

  function ofFragment(name: string): Measures {
    const known = measured.get(name);
    if (known) return known;
    measured.set(name, NOTHING);
    const fragment = fragments.get(name);
    const measures = fragment ? ofSelectionSet(fragment.selectionSet) : NOTHING;
    measured.set(name, measures);
    return measures;
  }

  function ofSelectionSet({ selections }: SelectionSetNode): Measures {
    let depth = 0;
    let aliases = 0;
    let fields = 0;
    for (const selection of selections) {
      let below = NOTHING;
      if (selection.kind === Kind.FRAGMENT_SPREAD) below = ofFragment(selection.name.value);
      else if (selection.selectionSet) below = ofSelectionSet(selection.selectionSet);
      const isField = selection.kind === Kind.FIELD;
      depth = Math.max(depth, below.depth + (isField ? 1 : 0));
      aliases += below.aliases + (isField && selection.alias ? 1 : 0);
      fields += below.fields + (isField ? 1 : 0);
    }
    return { depth, aliases, fields };
  }

  return ofSelectionSet;
}

function isIntrospection({ selectionSet }: OperationDefinitionNode): boolean {
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith('__'),
  );
}
