/** Parses documents, checks them against the limits, validates them, and caches the results. */
import {
  type ASTNode,
  type ASTVisitFn,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  Lexer,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  type SelectionSetNode,
  Source,
  specifiedRules,
  TokenKind,
  type TypeNode,
  type ValidationRule,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Config } from '../config/config.js';
import type { ErrorCode } from '../domain/error-codes.js';
import { memoized } from '../domain/memoized.js';
import { TEXT_LIMITS } from '../domain/text-limits.js';
import { createSeenBefore } from './seen-before.js';

type DocumentLimits = Pick<Config, 'maxDepth' | 'maxAliases' | 'maxQueryTokens' | 'introspection'>;

/** A parsed document takes about fifty times the memory of its text, so all cached ones take about 5 MB. */
const MAX_CACHED_LENGTH = 100_000;
const MAX_CACHED_DOCUMENTS = 300;
/** A longer text is not cached: it would push out many others, with their plans and kept JSON. */
const MAX_CACHED_TEXT = MAX_CACHED_LENGTH / 5;

export type Documents = ReturnType<typeof createDocuments>;

/** If `introspection` is false, introspection is refused, and error messages suggest no names of the schema. */
export function createDocuments(schema: GraphQLSchema, limits: DocumentLimits) {
  const { introspection } = limits;
  const parsed = new LRUCache<string, DocumentNode>({
    max: MAX_CACHED_DOCUMENTS,
    maxSize: MAX_CACHED_LENGTH,
    maxEntrySize: MAX_CACHED_TEXT,
    sizeCalculation: (_document, text) => Math.max(1, text.length),
  });
  const hasSeen = createSeenBefore();
  const rules = mergedRules([
    ...specifiedRules,
    queriesOnlyRule,
    ...(introspection ? [] : [NoSchemaIntrospectionCustomRule]),
  ]);

  /** The errors of a parsed document: those of the limits, or else those of validation. */
  const errorsOf = memoized((document: DocumentNode): readonly GraphQLError[] => {
    const exceeded = limitErrors(document, limits);
    if (exceeded.length > 0) return exceeded;
    const errors = validate(schema, document, [rules], { maxErrors: MAX_ERRORS }).map(withReason);
    if (!introspection) errors.forEach(hideSuggestion);
    return errors;
  });

  /** The newest parsed document. After the operation writer, GraphQL Yoga often gets the same text. */
  let newest: { readonly text: string; readonly document: DocumentNode } | undefined;

  /** Caches a document from its second request on: texts that are sent once would displace others. */
  function documentOf(text: string): DocumentNode {
    const known = parsed.get(text);
    if (known) return known;
    if (newest?.text !== text) {
      const source = new Source(text);
      const error = exceededTokenLimit(source, limits.maxQueryTokens);
      if (error) throw error;
      newest = { text, document: parse(source) };
    }
    if (hasSeen(text)) parsed.set(text, newest.document);
    return newest.document;
  }

  return {
    errorsOf,
    /**
     * The document, if it is valid and within the limits; for any other text GraphQL Yoga reports the errors.
     * `isLasting`: the document is cached, so that the same text gives the same object.
     */
    accepted(text: string): { readonly document: DocumentNode; readonly isLasting: boolean } | undefined {
      try {
        const document = documentOf(text);
        return errorsOf(document).length > 0 ? undefined : { document, isLasting: parsed.has(text) };
      } catch {
        return undefined;
      }
    },
    /**
     * For GraphQL Yoga. Usually the operation writer has just parsed the document: one request must not count as two.
     *
     * @throws GraphQLError for a syntax error, or with LIMIT_EXCEEDED
     */
    parse: (text: string) => (newest?.text === text ? newest.document : documentOf(text)),
  };
}

/** A longer document is executed without locations. */
const MAX_LOCATED_LENGTH = 500;

/**
 * The document to execute. A long one has no locations: with them, graphql-js counts the lines of the text up to the
 * field of each error, so a thousand errors would take seconds. Only one error loses its location by this: null for a
 * non-null argument, such as `if` of `@skip`. Errors of resolvers have none anyway.
 */
export const executableDocument = memoized((document: DocumentNode): DocumentNode => {
  const { body = '' } = document.loc?.source ?? {};
  return body.length <= MAX_LOCATED_LENGTH ? document : parse(body, { noLocation: true });
});

const queriesOnlyRule: ValidationRule = (context) => ({
  OperationDefinition(node) {
    if (node.operation === OperationTypeNode.QUERY) return;
    const message = `Expected a query, got a ${node.operation}: this graph is read-only.`;
    const extensions = { code: 'BAD_USER_INPUT' satisfies ErrorCode };
    context.reportError(new GraphQLError(message, { nodes: node, extensions }));
  },
});

/** Removes the suggested names of the schema from the message. The option `hideSuggestions` of graphql-js keeps enum values. */
export function hideSuggestion(error: { message: string }): void {
  error.message = error.message.replace(/ ?Did you mean .*$/s, '');
}

type Visit = ASTVisitFn<ASTNode> | undefined;

/**
 * Merges validation rules into one with the same errors in the same order. Without merging, graphql-js looks up each
 * kind of node in each rule for each document, which takes longer than validating a usual document. The rules must not
 * edit the document, stop the visit, or have a `leave` for all kinds of nodes.
 */
export function mergedRules(rules: readonly ValidationRule[]): ValidationRule {
  return (context) => {
    const merged: Record<string, { enter: ASTVisitFn<ASTNode>; leave: ASTVisitFn<ASTNode> }> = {};
    for (const visitor of rules.map((rule) => rule(context))) {
      /** The node for which this rule returned false, so that it skips the children of the node. */
      let skipped: ASTNode | undefined;
      const add = (kind: string, enter: Visit, leave: Visit) => {
        const before = merged[kind];
        merged[kind] = {
          enter(...node) {
            before?.enter(...node);
            if (!skipped && enter?.apply(visitor, node) === false) skipped = node[0];
          },
          leave(...node) {
            before?.leave(...node);
            if (!skipped) leave?.apply(visitor, node);
            else if (skipped === node[0]) skipped = undefined;
          },
        };
      };
      type Visits = Visit | { readonly enter?: Visit; readonly leave?: Visit };
      for (const [kind, given] of Object.entries(visitor) as [string, Visits][]) {
        if (kind === 'enter') for (const each of Object.values(Kind)) add(each, given as Visit, undefined);
        else if (typeof given === 'function') add(kind, given, undefined);
        else add(kind, given?.enter, given?.leave);
      }
    }
    return merged;
  };
}

/** More errors of a document are not made: each takes time, and holds memory. */
const MAX_ERRORS = 10;
/**
 * For a list type of many levels, GraphQL wraps a single value into one list for each level: with 900 levels, a body of
 * 16 kB becomes millions of lists. No argument of the graph has more than one level.
 */
const MAX_LIST_LEVELS = 2;

/** The errors of operations beyond a limit. Call it before validation, whose cost grows with each spread. */
function limitErrors(document: DocumentNode, limits: DocumentLimits): readonly GraphQLError[] {
  const { maxDepth, maxAliases, maxQueryTokens } = limits;
  const measure = createMeasure(document);
  const errors: GraphQLError[] = [];
  for (const operation of document.definitions) {
    if (operation.kind !== Kind.OPERATION_DEFINITION) continue;
    const { depth, aliases, fields } = measure(operation.selectionSet);
    const lists = (operation.variableDefinitions ?? []).map(({ type }) => listLevels(type));
    const checks = [
      ['levels of fields', maxDepth, isIntrospection(operation) ? 0 : depth],
      ['aliases', maxAliases, aliases],
      ['fields with its fragments expanded', maxQueryTokens, fields],
      ['levels of lists in the type of a variable', MAX_LIST_LEVELS, Math.max(0, ...lists)],
    ] as const;
    for (const [unit, limit, actual] of checks) {
      if (actual > limit && errors.length < MAX_ERRORS)
        errors.push(limitExceeded(unit, limit, actual, operation));
    }
  }
  return errors;
}

/** Replaces the error of graphql-js if the validation stops after half a million steps: that error names no reason. */
function withReason(error: GraphQLError): GraphQLError {
  if (error.message !== 'Validation aborted.') return error;
  return refusal(
    'The repeated fields and fragments of an operation must be compared in 500000 steps; this one takes more. Send several operations.',
  );
}

export type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

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

/** Measures each fragment once. A validation rule refuses a fragment that spreads itself. */
function createMeasure(document: DocumentNode) {
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

function listLevels(type: TypeNode): number {
  if (type.kind === Kind.NAMED_TYPE) return 0;
  return listLevels(type.type) + (type.kind === Kind.LIST_TYPE ? 1 : 0);
}

const NAME_TOO_LONG = `Expected names of at most ${TEXT_LIMITS.documentName} characters in the document, such as aliases; got a longer one.`;
/** A quick first check. It also matches in strings and comments, where long words are allowed. */
const LONG_WORD = new RegExp(`(?<!\\w)\\w{${TEXT_LIMITS.documentName + 1}}`);

/**
 * The error of a document that exceeds a limit. Names are limited because a response repeats the key of a field for each
 * row. Lines are limited because graphql-js counts them anew for each error. A syntax error is left to the parser.
 */
function exceededTokenLimit(source: Source, maxTokens: number): GraphQLError | undefined {
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
      if (kind === TokenKind.NAME && end - start > TEXT_LIMITS.documentName) return refusal(NAME_TOO_LONG);
    }
  } catch {
    return undefined;
  }
  return limitExceeded('lexical tokens', maxTokens, 'more');
}
