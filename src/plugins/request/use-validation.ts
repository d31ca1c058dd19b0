import {
  type ASTVisitor,
  GraphQLError,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  type ValidationContext,
  validate,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../domain/errors.js';

export interface ValidationOptions {
  /** If false, introspection is refused, and no error message suggests a name of the schema. */
  readonly introspection: boolean;
}

/**
 * The hundredth error helps nobody, costs as much as the first, and holds a part of its document for as long as the
 * document is cached.
 */
const MAX_VALIDATION_ERRORS = 10;

/** Stops validating a document after its first errors. Refuses mutations and subscriptions, which the graph does not have. */
export function useValidation({ introspection }: ValidationOptions): Plugin {
  return {
    onValidate({ addValidationRule, setValidationFn }) {
      setValidationFn((...[schema, document, rules]: Parameters<typeof validate>) =>
        validate(schema, document, rules, { maxErrors: MAX_VALIDATION_ERRORS }),
      );
      addValidationRule(queriesOnlyRule);
      if (introspection) return undefined;
      addValidationRule(NoSchemaIntrospectionCustomRule);
      return ({ result, setResult }) => {
        setResult(result.map((error) => (error instanceof GraphQLError ? withoutSuggestion(error) : error)));
      };
    },
  };
}

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

function withoutSuggestion(error: GraphQLError): GraphQLError {
  const message = error.message.replace(/ ?Did you mean .*$/s, '');
  return message === error.message ? error : new GraphQLError(message, { nodes: error.nodes ?? null });
}
