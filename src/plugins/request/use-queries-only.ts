import { type ASTVisitor, GraphQLError, OperationTypeNode, type ValidationContext } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../domain/errors.js';

/** Refuses mutations and subscriptions, which the graph does not have, before execution. */
export function useQueriesOnly(): Plugin {
  return {
    onValidate({ addValidationRule }) {
      addValidationRule(queriesOnlyRule);
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
