import { GraphQLError, NoSchemaIntrospectionCustomRule } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** Hides the schema: refuses introspection, and removes the suggestions for mistyped names from error messages. */
export function useNoIntrospection(): Plugin {
  return {
    onValidate({ addValidationRule }) {
      addValidationRule(NoSchemaIntrospectionCustomRule);
      return ({ result, setResult }) => {
        setResult(result.map((error) => (error instanceof GraphQLError ? withoutSuggestion(error) : error)));
      };
    },
  };
}

function withoutSuggestion(error: GraphQLError): GraphQLError {
  const message = error.message.replace(/ ?Did you mean .*$/s, '');
  return message === error.message ? error : new GraphQLError(message, { nodes: error.nodes ?? null });
}
