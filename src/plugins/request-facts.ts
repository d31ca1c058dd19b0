/** Reports to the HTTP server what GraphQL Yoga executed, for the log and the metrics. */
import type { Plugin } from 'graphql-yoga';
import { requestIdOf } from '../http/request-ids.js';

/** Facts about an operation that GraphQL Yoga executed, for the HTTP server. */
export interface RequestFacts {
  /** The name of the operation, if the client gave one. */
  operation?: string;
  /** The distinct codes of its errors. */
  codes?: readonly string[];
  /** True if the operation was refused before it had data. */
  isRefused?: boolean;
  /** Whether the client itself has caused the overload, or the failure of the upstream. */
  isByClient?: boolean;
}

/** Maximum distinct codes of one response. In practice a response has fewer. */
const MAX_CODES = 10;
const MAX_NAME_LENGTH = 100;

/**
 * Gives every request an id and returns it as `x-request-id`. Reports the operation's name and the codes of its errors
 * to the HTTP server, which logs and counts.
 */
export function useRequestFacts(): Plugin<object, { readonly outcome?: RequestFacts | undefined }> {
  const factsOf = new WeakMap<Request, RequestFacts>();
  return {
    onRequest({ request, serverContext }) {
      if (serverContext?.outcome) factsOf.set(request, serverContext.outcome);
    },
    onParams({ params, request }) {
      // This is not validated yet: the client can send any value.
      const name: unknown = params.operationName;
      const facts = factsOf.get(request);
      if (facts && typeof name === 'string' && name) facts.operation = name.slice(0, MAX_NAME_LENGTH);
    },
    onResultProcess({ request, result }) {
      const facts = factsOf.get(request);
      if (!facts || Symbol.asyncIterator in result) return;
      const codes = new Set<string>();
      for (const each of Array.isArray(result) ? result : [result]) {
        const { errors = [] } = each;
        if (each.data === undefined) facts.isRefused = true;
        for (const { extensions } of errors) {
          if (codes.size < MAX_CODES) codes.add(codeIn(extensions));
        }
      }
      if (codes.size > 0) facts.codes = [...codes];
    },
    onResponse({ request, response }) {
      response.headers.set('x-request-id', requestIdOf(request));
    },
  };
}

/** The code of an error. The GraphQL server gives an unexpected error no code. */
function codeIn(extensions: Readonly<Record<string, unknown>> | undefined): string {
  return typeof extensions?.code === 'string' ? extensions.code : 'INTERNAL_SERVER_ERROR';
}
