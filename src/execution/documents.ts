/** Parses and validates documents, and caches the results. */
import {
  type ASTNode,
  type ASTVisitFn,
  type ASTVisitor,
  type DocumentNode,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  parse,
  Source,
  specifiedRules,
  type ValidationContext,
  type ValidationRule,
  validate,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { ErrorCode } from '../domain/error-codes.js';
import { memoized } from '../domain/memoized.js';
import {
  type DocumentLimits,
  exceededTokenLimit,
  limitErrors,
  MAX_ERRORS,
  withReason,
} from './document-limits.js';
import { createSeenBefore } from './seen-before.js';

export interface DocumentsOptions extends DocumentLimits {
  readonly schema: GraphQLSchema;
  /** If false, introspection is refused, and error messages do not suggest names of the schema. */
  readonly introspection: boolean;
}

/**
 * The limits of the cache: beyond them, the documents that were unused for longest are dropped. A parsed document takes
 * about fifty times the memory of its text, so all take about 5 MB.
 */
const MAX_CACHED_LENGTH = 100_000;
const MAX_CACHED_DOCUMENTS = 300;
/** A longer text is not cached: it would push out many others, with their plans and kept JSON. */
const MAX_CACHED_TEXT = MAX_CACHED_LENGTH / 5;

export type Documents = ReturnType<typeof createDocuments>;

/** Makes an empty cache of documents for one schema. */
export function createDocuments({ schema, introspection, ...limits }: DocumentsOptions) {
  /** The parsed documents, by text. */
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

  /** Caches a document from its second request on: a text that was sent only once would displace others. */
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

  /** The last accepted document: most requests repeat it, and comparing two texts costs less than hashing one. */
  let last: { readonly text: string; readonly accepted: AcceptedDocument } | undefined;

  /** The document, if it is valid and within the limits; for any other text GraphQL Yoga reports the errors. */
  function accepted(text: string): AcceptedDocument | undefined {
    if (last?.text === text) return last.accepted;
    try {
      const document = documentOf(text);
      if (errorsOf(document).length > 0) return undefined;
      const accepted = { document, isLasting: parsed.has(text) };
      if (accepted.isLasting) last = { text, accepted };
      return accepted;
    } catch {
      return undefined;
    }
  }

  return {
    errorsOf,
    accepted,
    /**
     * Parses a document for GraphQL Yoga. Usually the operation writer has just parsed it: one request must not count
     * as two.
     *
     * @throws GraphQLError for a syntax error; LIMIT_EXCEEDED for too long a text or name, or for too many lexical
     *   tokens
     */
    parse: (text: string) => (newest?.text === text ? newest.document : documentOf(text)),
  };
}

/** A longer document is executed without locations. */
const MAX_LOCATED_LENGTH = 500;

/**
 * The document as it should be executed: a long one without locations. With them, graphql-js counts the lines of the
 * text up to the field of each error: a thousand errors would take seconds. Only one kind of error
 * loses its location by this, as errors of resolvers have none: a variable is null for a non-null argument, such as `if`
 * of `@skip`.
 */
export const executableDocument = memoized((document: DocumentNode): DocumentNode => {
  const { body = '' } = document.loc?.source ?? {};
  return body.length <= MAX_LOCATED_LENGTH ? document : parse(body, { noLocation: true });
});

interface AcceptedDocument {
  readonly document: DocumentNode;
  /** Whether the document is cached, so that the same text gives the same object. */
  readonly isLasting: boolean;
}

/** Refuses mutations and subscriptions, which the graph does not have. */
function queriesOnlyRule(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition(node) {
      if (node.operation === OperationTypeNode.QUERY) return;
      context.reportError(
        new GraphQLError(`Expected a query, got a ${node.operation}: this graph is read-only.`, {
          nodes: node,
          extensions: { code: 'BAD_USER_INPUT' satisfies ErrorCode },
        }),
      );
    },
  };
}

/** Removes the suggested names of the schema from the message. The option `hideSuggestions` of graphql-js keeps enum values. */
export function hideSuggestion(error: { message: string }): void {
  error.message = error.message.replace(/ ?Did you mean .*$/s, '');
}

type Visit = ASTVisitFn<ASTNode> | undefined;
interface Visits {
  readonly enter?: Visit;
  readonly leave?: Visit;
}

const KINDS: readonly string[] = Object.values(Kind);

/**
 * Merges validation rules into one with the same errors in the same order. Without merging, graphql-js looks up each
 * kind of node in each rule for each document, which takes longer than validating a usual document.
 *
 * @param rules must not edit the document, stop the visit, or have a `leave` for all kinds of nodes
 */
export function mergedRules(rules: readonly ValidationRule[]): ValidationRule {
  return (context) => {
    const merged: Record<
      string,
      { readonly enter: ASTVisitFn<ASTNode>; readonly leave: ASTVisitFn<ASTNode> }
    > = {};
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
      for (const [kind, given] of Object.entries(visitor) as [string, Visit | Visits][]) {
        if (kind === 'enter') for (const each of KINDS) add(each, given as Visit, undefined);
        else if (typeof given === 'function') add(kind, given, undefined);
        else add(kind, given?.enter, given?.leave);
      }
    }
    return merged;
  };
}
