/** Plugins that read the parameters of a request, and decide whether its document may be executed, in running order. */
import { createHash } from 'node:crypto';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { shown, TEXT_LIMITS } from '../domain/text-limits.js';
import type { Documents } from '../execution/documents.js';
import { persistedHash, requestError, type TrustedDocuments } from '../execution/trusted-documents.js';

/**
 * Corrects how GraphQL Yoga reads parameters. Yoga alone responds with 500 to parameters in a URL or a form that are not
 * valid JSON (400 here), and to a JSON body with a member `then`, which Yoga takes for a promise. Yoga also knows a
 * Content-Type only in lower case, and its refusal of another type has no body.
 */
export function useParameters(): Plugin {
  return {
    onRequest({ request: { headers } }) {
      const type = headers.get('content-type');
      // The look-behind keeps the time linear: without it, 15,000 spaces would take 0.3 s.
      if (type && /[A-Z]| ;/.test(type))
        headers.set('content-type', type.toLowerCase().replace(/(?<! ) +;/, ';'));
    },
    onRequestParse({ requestParser, setRequestParser }) {
      setRequestParser(async (request) => {
        if (!requestParser) {
          const type = request.headers.get('content-type');
          const message = `Expected the Content-Type application/json, got ${type ? shown(type) : 'none'}.`;
          throw requestError(message, 'BAD_REQUEST', 415);
        }
        const json = async (): Promise<unknown> => JSON.parse(await request.text());
        Object.defineProperty(request, 'json', { value: json, configurable: true });
        try {
          return await requestParser(request);
        } catch (error) {
          if (!(error instanceof SyntaxError)) throw error;
          const message = `Expected "variables" and "extensions" to be JSON, got something else: ${error.message}.`;
          throw requestError(message, 'BAD_USER_INPUT', 400);
        }
      });
    },
  };
}

export function useTrustedDocuments(
  trusted: TrustedDocuments,
): Plugin<object, { readonly isOwn?: boolean | undefined }> {
  return {
    onParams({ params, request, setParams, context }) {
      if (context.isOwn) return;
      // GraphQL Yoga reads only the standard parameters of a URL.
      const inUrl = request.method === 'GET' ? new URL(request.url).searchParams : undefined;
      const documentId = inUrl?.get('documentId') ?? inUrl?.get('doc_id') ?? undefined;
      const given: Readonly<Record<string, unknown>> = { documentId, ...params };
      const resolved = trusted.resolve(given);
      if (resolved instanceof GraphQLError) throw resolved;
      // The cast is safe, because GraphQL Yoga validates the parameters next.
      if (resolved !== given) setParams(resolved as typeof params);
    },
  };
}

/** When all stored queries together have more characters (4 MB), those that were unused for longest are dropped. */
const MAX_STORED_LENGTH = 2 ** 21;
const HASH = /^[0-9a-f]{64}$/;

/** Automatic persisted queries, as in Apollo Client and urql: the SHA-256 of a query fits into a short, cacheable URL. */
export function usePersistedQueries(): Plugin {
  const texts = new LRUCache<string, string>({
    maxSize: MAX_STORED_LENGTH,
    // A longer text is refused as a document, and would displace many others here.
    maxEntrySize: TEXT_LIMITS.document + 64,
    sizeCalculation: (text) => text.length + 64,
  });
  return {
    onParams({ params, setParams }) {
      const hash = persistedHash(params.extensions);
      if (hash === undefined || !HASH.test(hash)) return;
      // This is not validated yet: the client can send any value.
      const query: unknown = params.query ?? undefined;
      if (query === undefined) {
        const known = texts.get(hash);
        // Clients recognise this error by exactly this message, or by its code.
        if (known === undefined)
          throw requestError('PersistedQueryNotFound', 'PERSISTED_QUERY_NOT_FOUND', 200);
        setParams({ ...params, query: known });
        return;
      }
      if (typeof query !== 'string') return;
      if (createHash('sha256').update(query).digest('hex') !== hash) {
        const message = 'Expected the SHA-256 of the query, in hex, as its "sha256Hash"; got another.';
        throw requestError(message, 'PERSISTED_QUERY_MISMATCH', 400);
      }
      texts.set(hash, query);
    },
  };
}

/**
 * Ignores unknown members of a request, as GraphQL over HTTP demands: GraphQL Yoga alone would refuse it. Also refuses an
 * `operationName` that is long or no text. This plugin must follow the plugins that read other members.
 */
export function useKnownMembers(): Plugin {
  return {
    onParams({ params, setParams }) {
      // This is not validated yet: the client can send any value.
      const given: unknown = params;
      if (typeof given !== 'object' || given === null || Array.isArray(given)) return;
      const { query, operationName, variables, extensions, ...unknown } = params;
      if ((query ?? null) !== null) {
        // In a URL, GraphQL over HTTP demands that an empty name counts as none. Here it does in a body, too.
        const name: unknown = operationName === '' ? undefined : operationName;
        if ((name ?? null) !== null && typeof name !== 'string')
          throw requestError(
            `Expected a text as "operationName", got a value of the type ${typeof name}.`,
            'BAD_REQUEST',
            400,
          );
        if (typeof name === 'string' && name.length > TEXT_LIMITS.documentName) {
          const message = `Expected at most ${TEXT_LIMITS.documentName} characters as "operationName", got ${name.length}.`;
          throw requestError(message, 'BAD_USER_INPUT', 400);
        }
        return setParams({ query, operationName: name, variables, extensions } as typeof params);
      }
      // One of the unknown members may be a misspelt "query".
      const [other] = Object.keys(unknown);
      const message = `Expected a document as "query", such as "{ chains { name } }"; got ${other ? `only other members, such as ${shown(other)}` : 'none'}.`;
      const http = { status: 400, spec: other === undefined };
      throw new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http } });
    },
  };
}

/** Refuses a document with too many lexical tokens, and an invalid document. */
export function useValidation(documents: Pick<Documents, 'parse' | 'errorsOf'>): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((text) => documents.parse(String(text)));
    },
    onValidate({ params: { documentAST }, setResult }) {
      setResult(documents.errorsOf(documentAST));
    },
  };
}
