/** Finds faults in an answer: a body that contradicts its headers, or an error without a known code. */
import { ERRORS, SERVER_ERRORS } from '../../../src/domain/error-codes.js';
import { plainOf, type Received } from '../../support/send-http.js';

/** All codes but INTERNAL_SERVER_ERROR, which is always a fault. */
const { INTERNAL_SERVER_ERROR: _fault, ...codes } = { ...ERRORS, ...SERVER_ERRORS };
const CODES: ReadonlySet<unknown> = new Set(Object.keys(codes));

/** The JSON documents in a body. @throws Error if the body is not what its content type says */
function documentsOf(answer: Received): readonly unknown[] {
  // An answer to HEAD has no body.
  if (answer.body.byteLength === 0) return [];
  const text = plainOf(answer).toString();
  const [type = ''] = (answer.headers['content-type'] ?? '').split(';');
  if (/^application\/([\w-]+\+)?json$/.test(type)) return [JSON.parse(text)];
  if (type === 'text/event-stream')
    return [...text.matchAll(/(?:^|[\r\n])data: ([^\r\n]+)/g)].map(([, data = '']) => JSON.parse(data));
  if (type === 'multipart/mixed')
    return [...text.matchAll(/\r\n\r\n([^\r\n]+)\r\n---/g)].map(([, part = '']) => JSON.parse(part));
  return [];
}

interface Response {
  readonly errors?: readonly { message?: unknown; extensions?: { code?: unknown } }[];
}

/** @param isIncomplete whether a listing has no snapshot: then some paths answer with 503 */
export function faultsOf(answer: Received, isIncomplete: boolean): readonly string[] {
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
  const isExpected = status === 503 && (isIncomplete || codes.includes('OVERLOADED'));
  if (status >= 500 && !isExpected) faults.push(`A failure: ${said()}`);
  return faults;
}
