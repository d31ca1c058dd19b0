/** The limits on documents, which are checked before validation. */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type Source,
  TokenKind,
  type TypeNode,
} from 'graphql';
import type { Config } from '../config/config.js';
import type { ErrorCode } from '../domain/error-codes.js';
import { memoized } from '../domain/memoized.js';
import { TEXT_LIMITS } from '../domain/text-limits.js';

export type DocumentLimits = Pick<Config, 'maxDepth' | 'maxAliases' | 'maxQueryTokens'>;

/** At most this many errors of a document are made: each takes time, and holds memory. */
export const MAX_ERRORS = 10;
/**
 * For a list type of many levels, GraphQL wraps a single value into one list for each level: with 900 levels, a body of
 * 16 kB becomes millions of lists. No argument of the graph has more than one level.
 */
const MAX_LIST_LEVELS = 2;

/** The errors of operations beyond a limit. Call it before validation, whose cost grows with each spread. */
export function limitErrors(document: DocumentNode, limits: DocumentLimits): readonly GraphQLError[] {
  const { maxDepth, maxAliases, maxQueryTokens } = limits;
  const measure = createMeasure(document);
  const exceeded = document.definitions.flatMap((operation) => {
    if (operation.kind !== Kind.OPERATION_DEFINITION) return [];
    const { depth, aliases, fields } = measure(operation.selectionSet);
    const checks = [
      ['levels of fields', maxDepth, isIntrospection(operation) ? 0 : depth],
      ['aliases', maxAliases, aliases],
      ['fields with its fragments expanded', maxQueryTokens, fields],
      ['levels of lists in the type of a variable', MAX_LIST_LEVELS, mostListLevels(operation)],
    ] as const;
    return checks
      .filter(([, limit, actual]) => actual > limit)
      .map(([unit, limit, actual]) => [unit, limit, actual, operation] as const);
  });
  return exceeded.slice(0, MAX_ERRORS).map((each) => limitExceeded(...each));
}

/** Replaces the error of graphql-js if the validation stops after half a million steps: that error names no reason. */
export function withReason(error: GraphQLError): GraphQLError {
  if (error.message !== 'Validation aborted.') return error;
  return refusal(
    'An operation may repeat fields and fragments only so often that its fields can be compared in 500000 steps; this one takes more. Send several operations.',
  );
}

export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

/** The fragments of a document, by name. */
export const fragmentsOf = memoized((document: DocumentNode): Fragments => {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  }
  return fragments;
});

function limitExceeded(
  unit: string,
  limit: number,
  actual: number | 'more',
  operation?: OperationDefinitionNode,
): GraphQLError {
  return refusal(`An operation may have at most ${limit} ${unit}; this one has ${actual}.`, operation);
}

function refusal(message: string, operation?: OperationDefinitionNode): GraphQLError {
  return new GraphQLError(message, {
    nodes: operation ?? null,
    extensions: { code: 'LIMIT_EXCEEDED' satisfies ErrorCode, http: { spec: true, status: 400 } },
  });
}

const NOTHING = { depth: 0, aliases: 0, fields: 0 };

/** Measures selection sets, each fragment once. A validation rule refuses a fragment that spreads itself. */
function createMeasure(
  document: DocumentNode,
): (selectionSet: SelectionSetNode | undefined) => typeof NOTHING {
  const fragments = fragmentsOf(document);
  const measured = new Map<string, typeof NOTHING>();

  function ofFragment(name: string): typeof NOTHING {
    const known = measured.get(name);
    if (known) return known;
    measured.set(name, NOTHING);
    const measures = ofSelectionSet(fragments[name]?.selectionSet);
    measured.set(name, measures);
    return measures;
  }

  function ofSelectionSet(selectionSet: SelectionSetNode | undefined): typeof NOTHING {
    const sum = { ...NOTHING };
    for (const selection of selectionSet?.selections ?? []) {
      const isField = selection.kind === Kind.FIELD;
      const below =
        selection.kind === Kind.FRAGMENT_SPREAD
          ? ofFragment(selection.name.value)
          : ofSelectionSet(selection.selectionSet);
      sum.depth = Math.max(sum.depth, below.depth + (isField ? 1 : 0));
      sum.aliases += below.aliases + (isField && selection.alias ? 1 : 0);
      sum.fields += below.fields + (isField ? 1 : 0);
    }
    return sum;
  }

  return ofSelectionSet;
}

function isIntrospection({ selectionSet }: OperationDefinitionNode): boolean {
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith('__'),
  );
}

function mostListLevels({ variableDefinitions = [] }: OperationDefinitionNode): number {
  return Math.max(0, ...variableDefinitions.map(({ type }) => listLevels(type)));
}

function listLevels(type: TypeNode): number {
  if (type.kind === Kind.NAMED_TYPE) return 0;
  return listLevels(type.type) + (type.kind === Kind.LIST_TYPE ? 1 : 0);
}

const NAME_TOO_LONG = `Expected names of at most ${TEXT_LIMITS.name} characters in the document, such as aliases; got a longer one.`;
/**
 * A quick first check. It also matches long words in strings and comments, which are allowed. The look-behind keeps its
 * time linear.
 */
const LONG_WORD = new RegExp(`(?<!\\w)\\w{${TEXT_LIMITS.name + 1}}`);

/**
 * Checks a document before it is parsed. Names are limited because a response repeats the key of a field for each row.
 * Lines are limited because graphql-js counts them for each error. The check stops at the first token over a limit, and
 * at a syntax error, which the parser then reports.
 *
 * @returns the error of a document that exceeds a limit
 */
export function exceededTokenLimit(source: Source, maxTokens: number): GraphQLError | undefined {
  const { body } = source;
  if (body.length > TEXT_LIMITS.document)
    return limitExceeded('characters', TEXT_LIMITS.document, body.length);
  // A lexical token has at least one character.
  if (body.length <= maxTokens && !LONG_WORD.test(body)) return undefined;
  const lexer = new Lexer(source);
  try {
    for (let tokens = 0; tokens <= maxTokens; tokens++) {
      const { kind, start, end } = lexer.advance();
      if (kind === TokenKind.EOF)
        return lexer.line > maxTokens ? limitExceeded('lines', maxTokens, lexer.line) : undefined;
      if (kind === TokenKind.NAME && end - start > TEXT_LIMITS.name) return refusal(NAME_TOO_LONG);
    }
  } catch {
    return undefined;
  }
  return limitExceeded('lexical tokens', maxTokens, 'more');
}
