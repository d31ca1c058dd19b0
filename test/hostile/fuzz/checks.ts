import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { Kind, type OperationDefinitionNode, parse, print, visit } from 'graphql';
import { ERROR_CODES } from '../../../src/domain/error-codes.js';
import type { Operation } from '../../support/generated-operations.js';
import type { Received } from '../../support/send-http.js';

/** Codes of the GraphQL server and of persisted queries, but not INTERNAL_SERVER_ERROR, which is always a fault. */
const SERVER_CODES =
  'GRAPHQL_PARSE_FAILED GRAPHQL_VALIDATION_FAILED BAD_REQUEST OPERATION_RESOLUTION_FAILURE PERSISTED_QUERY_NOT_FOUND PERSISTED_QUERY_MISMATCH OVERLOADED';
const CODES: ReadonlySet<unknown> = new Set([...ERROR_CODES, ...SERVER_CODES.split(' ')]);

const DECODERS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
  deflate: inflateSync,
};

/** The decoded text of a body. An answer to HEAD has none. @throws Error if it is not encoded as its header says */
function textOf({ headers, body }: Received): string {
  const decode = body.byteLength > 0 ? DECODERS[headers['content-encoding'] ?? ''] : undefined;
  return (decode?.(body) ?? body).toString();
}

/** The JSON documents in a body. @throws Error if the body is not what its content type says */
function documentsOf(answer: Received): readonly unknown[] {
  const text = textOf(answer);
  const [type = ''] = (answer.headers['content-type'] ?? '').split(';');
  if (text === '') return [];
  if (/^application\/([\w-]+\+)?json$/.test(type)) return [JSON.parse(text)];
  if (type === 'text/event-stream')
    return [...text.matchAll(/(?:^|[\r\n])data: ([^\r\n]+)/g)].map(([, data = '']) => JSON.parse(data));
  if (type === 'multipart/mixed')
    return [...text.matchAll(/\r\n\r\n([^\r\n]+)\r\n---/g)].map(([, part = '']) => JSON.parse(part));
  return [];
}

interface Response {
  readonly data?: Record<string, unknown> | null;
  readonly errors?: readonly { message?: unknown; path?: unknown; extensions?: { code?: unknown } }[];
}

/** The faults of an answer that do not depend on its request. */
export function faultsOf(answer: Received): readonly string[] {
  const { status, headers } = answer;
  const said = () => `${status} ${headers['content-type']}: ${answer.body.toString().slice(0, 300)}`;
  let documents: readonly (Response | null)[];
  try {
    documents = documentsOf(answer).flat() as readonly (Response | null)[];
  } catch (error) {
    return [`A body that is not what its headers say (${error}): ${said()}`];
  }
  const faults: string[] = [];
  if (!headers['x-request-id']) faults.push(`An answer without x-request-id: ${said()}`);
  const codes: unknown[] = [];
  for (const document of documents) {
    if (typeof document !== 'object' || !document) faults.push(`Expected a JSON object, got ${said()}`);
    const errors = document?.errors;
    if (errors === undefined) continue;
    const isList = Array.isArray(errors) && errors.length > 0;
    if (!isList || errors.some(({ message }) => typeof message !== 'string'))
      faults.push(`Expected "errors" to be a list of errors with messages, got ${said()}`);
    else codes.push(...errors.map(({ extensions }) => extensions?.code));
  }
  for (const code of codes) if (!CODES.has(code)) faults.push(`An unknown code ${code}: ${said()}`);
  if (status >= 500 && !(status === 503 && codes.includes('OVERLOADED'))) faults.push(`A failure: ${said()}`);
  return faults;
}

const ADDED = 'addedByTheFuzzer';
const ADDED_FIELD = {
  kind: Kind.FIELD,
  name: { kind: Kind.NAME, value: '__typename' },
  alias: { kind: Kind.NAME, value: ADDED },
} as const;

/** The operation with one more field, so that no cached response is used. */
export function rewritten(operation: Operation): Operation {
  const addTo = (node: OperationDefinitionNode): OperationDefinitionNode => ({
    ...node,
    selectionSet: { ...node.selectionSet, selections: [...node.selectionSet.selections, ADDED_FIELD] },
  });
  return { ...operation, query: print(visit(parse(operation.query), { OperationDefinition: addTo })) };
}

/** The difference between the answers to an operation and to the same one rewritten. Undefined if they are equal. */
export function differenceOf(first: Received, second: Received): string | undefined {
  const [one, other] = [comparable(first), comparable(second)];
  // The additional field can exceed a limit.
  if (!one || !other || other.includes('LIMIT_EXCEEDED') || one === other) return undefined;
  return `Another answer to the same operation: ${one.slice(0, 500)} and ${other.slice(0, 500)}`;
}

/** The data and the codes of errors. Undefined if the answer has several parts. */
function comparable(answer: Received): string | undefined {
  const [response, ...more] = documentsOf(answer) as readonly Response[];
  if (!response || more.length > 0) return undefined;
  const { [ADDED]: _added, ...data } = response.data ?? {};
  const errors = (response.errors ?? []).map(({ path, extensions }) =>
    JSON.stringify([path, extensions?.code]),
  );
  return JSON.stringify({ data: response.data ? data : null, errors: errors.sort() });
}
