import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { responseTooLong } from '../../domain/errors.js';
import { exceedsBytes } from '../../execution/result-bytes.js';
import type { GatewayContext } from '../../graph/context.js';

/** Refuses a response that would be longer than its limit, before any of its bytes are made. */
export function useResponseLimit(): Plugin<GatewayContext> {
  return {
    onExecute: () => ({
      onExecuteDone({ result, setResult, args: { contextValue } }) {
        const max = contextValue.maxResponseBytes();
        if (Symbol.asyncIterator in result || !exceedsBytes(result, max)) return;
        const { message, code } = responseTooLong(max);
        const extensions = { code, http: { spec: true, status: 400 } };
        setResult({ errors: [new GraphQLError(message, { extensions })] });
      },
    }),
  };
}
