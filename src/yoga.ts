/** GraphQL Yoga with the plugins of this gateway. */
import type { GraphQLSchema } from 'graphql';
import { createYoga, type FetchAPI } from 'graphql-yoga';
import type { Config } from './config/config.js';
import { shown, TEXT_LIMITS } from './domain/text-limits.js';
import type { Documents } from './execution/documents.js';
import type { TrustedDocuments } from './execution/trusted-documents.js';
import type { GatewayContext } from './graph/context.js';
import type { OperationFacts } from './graph/loaders.js';
import { isJsonType, QUERY, QUERY_TYPE } from './http/operations.js';
import { GRAPHQL_PATH } from './http/paths.js';
import { type PlainResponse, plainRefusal, type Refusal } from './http/refusal.js';
import type { Logger } from './logger/logger.js';
import { type ExecutionContext, type OperationOutcome, useExecution } from './plugins/execution.js';
import {
  useKnownMembers,
  useParameters,
  usePersistedQueries,
  useTrustedDocuments,
  useValidation,
} from './plugins/parameters.js';

export type { OperationOutcome };

export interface YogaOptions extends Config {
  readonly schema: GraphQLSchema;
  readonly documents: Documents;
  readonly trusted: TrustedDocuments | undefined;
  readonly createContext: (context: RequestFacts) => GatewayContext;
  readonly log: Logger;
}

export interface RequestFacts extends Omit<OperationFacts, 'yieldToQueue'> {
  readonly requestId: string;
  /** Whether the operation is of a tool of `/mcp`: its document need not be in `TRUSTED_DOCUMENTS`. */
  readonly isOwn?: boolean | undefined;
}

/** The context of GraphQL Yoga, and of the answers at other paths. */
export type YogaContext = RequestFacts & Pick<ExecutionContext, 'outcome' | 'costRefusal'>;

/** Sets up GraphQL Yoga for the endpoint. Plugins run in the order of their list. */
export function createYogaHandler({ schema, basePath, documents, trusted, createContext, log }: YogaOptions) {
  const { fetchAPI, handleRequest } = createYoga<YogaContext, GatewayContext>({
    schema,
    graphqlEndpoint: basePath + GRAPHQL_PATH,
    context: createContext,
    plugins: [
      useParameters(),
      useExecution(),
      // The next plugins find the document, and may refuse it.
      ...(trusted ? [useTrustedDocuments(trusted)] : []),
      // After useTrustedDocuments, which has replaced the ids of trusted documents by their texts.
      usePersistedQueries(),
      useKnownMembers(),
      useValidation(documents),
    ],
    // Masks errors that useExecution does not see, whatever NODE_ENV is.
    maskedErrors: { isDev: false },
    // Features of Yoga that the server or a plugin above replaces, or that are not offered. The CORS of Yoga repeats the
    // request's origin even if all are allowed, and then shared caches cannot reuse responses.
    parserAndValidationCache: false,
    cors: false,
    graphiql: false,
    landingPage: false,
    maxRequestBodySize: false,
    multipart: false,
    // Switches Yoga's health check off: Yoga compares this with the end of the URL, and no URL has this end.
    healthCheckEndpoint: '\n',
    logging: {
      debug: (...args) => log.trace({ args }, 'yoga'),
      info: (...args) => log.debug({ args }, 'yoga'),
      warn: (...args) => log.warn({ args }, 'yoga'),
      error: (error) => log.error({ err: error }, 'Internal error while answering a request'),
    },
  });

  return {
    /** The class of requests that Yoga processes fastest. */
    Request: fetchAPI.Request,
    /** Responds to a request to the endpoint. A HEAD request arrives as GET. */
    async respond(request: Request, context: YogaContext): Promise<PlainResponse> {
      const { method, headers: sent } = request;
      const refused = (status: number, message: string, headers?: Refusal['headers']) => {
        const code = 'BAD_REQUEST';
        context.outcome.codes = [code];
        return plainRefusal({ status, message, code, headers });
      };
      const accept = sent.get('accept') ?? '';
      // Yoga compares each type here with each of its own, and so would work 20 ms on a header of 15,000 commas.
      if (accept.length > TEXT_LIMITS.header) sent.set('accept', accept.slice(0, TEXT_LIMITS.header));
      const type = sent.get('content-type');
      if (method === QUERY && !isJsonType(type ?? '')) {
        const message = `Expected a QUERY request to have the Content-Type ${QUERY_TYPE}, got ${type ? shown(type) : 'none'}.`;
        return refused(type ? 415 : 400, message);
      }
      const response = await handleRequest(method === QUERY ? asPost(request, fetchAPI) : request, context);
      const { status, headers } = response;
      // The messages of Yoga's own refusals lack the expected and the actual value.
      if (status === 405) {
        const message =
          method === 'GET'
            ? 'Expected a query, got a mutation: this graph is read-only.'
            : `Expected one of the methods ${ALLOWED}, got ${shown(method)}.`;
        return refused(status, message, { allow: ALLOWED });
      }
      if (status === 406) {
        const message = `Expected an Accept header with one of these types: ${RESPONSE_TYPES}; got ${shown(accept)}.`;
        return refused(status, message, { accept: RESPONSE_TYPES });
      }
      // Yoga also sends this header with status 400 for parameters of a wrong type, whose method is right.
      headers.delete('allow');
      // Yoga holds the body as a text: arrayBuffer() would make one more copy of its bytes.
      return { status, headers: Object.fromEntries(headers), body: await response.text() };
    },
  };
}

const ALLOWED = `GET, HEAD, POST, ${QUERY}, OPTIONS`;
/** For a refusal with status 406: Yoga's own repeats this list for each type in the request's Accept header, or lacks it. */
const RESPONSE_TYPES =
  'text/event-stream; charset=utf-8, multipart/mixed; charset=utf-8, application/graphql-response+json; charset=utf-8, application/json';

/** GraphQL Yoga does not know the method QUERY (RFC 10008): it gets such a request as a POST. */
function asPost({ url, headers: sent, body, signal }: Request, { Headers, Request }: FetchAPI): Request {
  const headers = new Headers(sent);
  headers.set('content-type', QUERY_TYPE);
  return new Request(url, { method: 'POST', headers, body, signal, duplex: 'half' } as RequestInit);
}
