import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';

import { Kind, type OperationDefinitionNode, parse, print, visit } from 'graphql';
import { ERROR_CODES } from '../../../src/domain/error-codes.js';
import type { Operation } from '../../support/generated-operations.js';

import type { Answer } from './answer-reader.js';
import { type Exchange, exchangeOf } from './exchange.js';

/** Codes of the GraphQL server and of persisted queries, but not INTERNAL_SERVER_ERROR, which is always a fault. */
const SERVER_CODES =
  'GRAPHQL_PARSE_FAILED GRAPHQL_VALIDATION_FAILED BAD_REQUEST OPERATION_RESOLUTION_FAILURE PERSISTED_QUERY_NOT_FOUND PERSISTED_QUERY_MISMATCH'.split(
    ' ',
  );
const CODES: ReadonlySet<unknown> = new Set([...ERROR_CODES, ...SERVER_CODES, 'OVERLOADED']);

/** The faults of an answer that do not depend on its request. */
export function faultsOf(answer: Answer, method: string): readonly string[] {
  const { status, headers } = answer;
  const faults: string[] = [];
  if (!headers.has('x-request-id')) faults.push(`Status ${status} without x-request-id`);
  const text = textOf(answer);
  if (text === undefined) return [...faults, `A body that is not ${headers.get('content-encoding')}`];
  const documents =
    method === 'HEAD' || text === '' ? [] : documentsOf(headers.get('content-type') ?? '', text);
  if (!documents)
    return [
      ...faults,
      `Not well-formed: ${headers.get('content-type')} ${JSON.stringify(text.slice(0, 200))}`,
    ];
  const codes = documents.flatMap(codesOf);
  faults.push(...documents.flatMap(shapeFaults));
  if (status >= 500 && !(status === 503 && codes.includes('OVERLOADED'))) {
    faults.push(`Status ${status}: ${text.slice(0, 300)}`);
  }
  for (const code of codes)
    if (!CODES.has(code)) faults.push(`Code ${code} in an answer with status ${status}`);
  return faults;
}

/** The decoded text of a body. Undefined if it is not encoded as its header says. */
function textOf({ headers, body }: Answer): string | undefined {
  try {
    switch (headers.get('content-encoding')) {
      case 'br':
        return brotliDecompressSync(body).toString('utf8');
      case 'gzip':
        return gunzipSync(body).toString('utf8');
      case 'deflate':
        return inflateSync(body).toString('utf8');
      default:
        return body.toString('utf8');
    }
  } catch {
    // An answer to HEAD has no body.
    return body.byteLength === 0 ? '' : undefined;
  }
}

/** The JSON documents in a body. Undefined if an expected one is missing. */
function documentsOf(contentType: string, text: string): readonly unknown[] | undefined {
  const type = contentType.split(';')[0]?.trim() ?? '';
  try {
    if (/^application\/([\w-]+\+)?json$/.test(type)) return [JSON.parse(text)];
    if (type === 'text/event-stream') {
      return [...text.matchAll(/(?:^|[\r\n])data: ([^\r\n]+)/g)].map(([, data]) => JSON.parse(data ?? ''));
    }
    if (type === 'multipart/mixed') {
      return [...text.matchAll(/\r\n\r\n([^\r\n]+)\r\n---/g)].map(([, part]) => JSON.parse(part ?? ''));
    }
    return [];
  } catch {
    return undefined;
  }
}

/** Checks that a GraphQL response has data or errors, and that other JSON has an `error` or facts. */
function shapeFaults(document: unknown): readonly string[] {
  if (typeof document !== 'object' || document === null) return ['Expected a JSON object'];
  if (Array.isArray(document)) return document.flatMap(shapeFaults);
  const { errors } = document as { errors?: unknown };
  if (errors === undefined) return [];
  if (!Array.isArray(errors) || errors.length === 0)
    return ['Expected "errors" to be a list that is not empty'];
  return errors.every((error) => typeof error?.message === 'string') ? [] : ['An error without a message'];
}

function codesOf(document: unknown): readonly unknown[] {
  if (Array.isArray(document)) return document.flatMap(codesOf);
  const { errors } = (document ?? {}) as { errors?: unknown };
  return Array.isArray(errors) ? errors.map((error) => error?.extensions?.code) : [];
}

const ALIAS = 'addedByTheFuzzer';

/** The same operation with one more field and other white space, so that no cache has its response. */
export function rewritten(operation: Operation): Exchange {
  const document = visit(parse(operation.query), {
    OperationDefinition: (node): OperationDefinitionNode => ({
      ...node,
      selectionSet: {
        ...node.selectionSet,
        selections: [
          ...node.selectionSet.selections,
          {
            kind: Kind.FIELD,
            name: { kind: Kind.NAME, value: '__typename' },
            alias: { kind: Kind.NAME, value: ALIAS },
          },
        ],
      },
    }),
  });
  const body = Buffer.from(JSON.stringify({ ...operation, query: print(document) }));
  const headers = [['content-type', 'application/json']] as const;
  return exchangeOf('rewritten', { method: 'POST', target: '/graphql', headers, body });
}

/** The difference between the answers to an operation and to the same one rewritten. Undefined if they are equal. */
export function differenceOf(first: Answer, second: Answer): string | undefined {
  const [one, other] = [comparable(first), comparable(second)];
  // The additional field can exceed a limit.
  if (!one || !other || other.includes('LIMIT_EXCEEDED') || one === other) return undefined;
  return `Another answer to the same operation: ${one.slice(0, 500)} and ${other.slice(0, 500)}`;
}

/** The data and the codes of errors. Undefined if the answer is not JSON of an operation. */
function comparable(answer: Answer): string | undefined {
  if (!/^application\/(graphql-response\+)?json/.test(answer.headers.get('content-type') ?? ''))
    return undefined;
  const response = JSON.parse(textOf(answer) || 'null');
  if (response?.data === undefined && response?.errors === undefined) return undefined;
  const { [ALIAS]: _added, ...data } = response.data ?? {};
  const errors = (response.errors ?? []).map((error: { path?: unknown; extensions?: { code?: unknown } }) =>
    JSON.stringify([error.path, error.extensions?.code]),
  );
  return JSON.stringify({ data: response.data ? data : null, errors: errors.sort() });
}
