import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { ERROR_CODES } from '../../../src/domain/error-codes.js';
import type { Answer } from './answer-reader.js';

/** Codes of the GraphQL server and of persisted queries; INTERNAL_SERVER_ERROR is a fault wherever it comes. */
const SERVER_CODES = [
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'BAD_REQUEST',
  'OPERATION_RESOLUTION_FAILURE',
  'PERSISTED_QUERY_NOT_FOUND',
  'PERSISTED_QUERY_MISMATCH',
];
const CODES: ReadonlySet<unknown> = new Set([...ERROR_CODES, ...SERVER_CODES, 'OVERLOADED']);

/** What is wrong with an answer by itself, whatever was asked. */
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

/** The plain text of a body; undefined where it is not encoded as it says. */
export function textOf({ headers, body }: Answer): string | undefined {
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
    // The body of an answer to HEAD.
    return body.byteLength === 0 ? '' : undefined;
  }
}

/** The JSON documents in a body; undefined where there should be one and is none. */
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

/** A GraphQL response has data or errors; the pages beside the graph answer with an `error`, or with facts. */
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
