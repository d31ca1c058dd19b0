/** All error codes that clients can get: what happened, and what to do. */

/** @param status the HTTP status, if this code has one of its own; otherwise 200 */
const meaning = (happened: string, advice: string, status = 200) => ({ happened, advice, status });

/**
 * The codes that this gateway adds to those of the GraphQL server. Clients compare them: never rename one. The guide to
 * error codes is printed from this table and the next one. Their order also counts: see `outcomeOf` of the metrics.
 */
export const ERRORS = {
  UPSTREAM_TIMEOUT: meaning('The upstream did not answer in time.', 'Retry in a few seconds.'),
  UPSTREAM_UNREACHABLE: meaning(
    'The gateway could not connect to the upstream, or the connection broke.',
    'Retry in a few seconds.',
  ),
  UPSTREAM_STATUS: meaning(
    'The upstream answered with an unexpected HTTP status, such as 404 or 500.',
    'Retry in a minute.',
  ),
  UPSTREAM_GONE: meaning(
    'The upstream says that it is switched off: it answered 410, or with an error that says "deprecated".',
    'Tell the operator of the gateway.',
  ),
  UPSTREAM_RATE_LIMITED: meaning(
    'The upstream has asked for fewer requests, or too many requests to it are waiting.',
    'Retry in a minute.',
  ),
  UPSTREAM_MALFORMED: meaning(
    'The answer of the upstream was not JSON, too large, empty or not as specified; or the whole listing is held back.',
    'Retry in a minute; then tell the operator.',
  ),
  ROUTE_BUDGET_EXCEEDED: meaning(
    'The operation needs uncached routes of more than 10 tokens.',
    'Ask for the other tokens in another operation.',
  ),
  LIMIT_EXCEEDED: meaning(
    'The operation is over a limit, such as that on its levels, aliases, characters, rows or cost, or on the size of its response. A request body that is too large, or would take too long to parse, gets HTTP 413.',
    'Ask for less, or send several operations. The message names [the limit](../server/limits.md#limits-on-one-operation).',
  ),
  BAD_USER_INPUT: meaning(
    'An argument or a variable has an invalid value, such as a wrong cursor. The status is 400 if `operationName` is too long, if `variables` or `extensions` in a URL or a form are not JSON, or if `documentId` stands for another text than `query`.',
    'Correct the value. The message names the expected one.',
  ),
  OVERLOADED: meaning(
    'The gateway is busy and did not execute the operation. With HTTP status 200, it did not finish the fields with this error.',
    'Retry after the seconds in `Retry-After`; without this header, after one second.',
    503,
  ),
  RATE_LIMITED: meaning(
    'The client sent more operations than `RATE_LIMIT` allows. Responses from the cache do not count.',
    'Retry after the seconds in `Retry-After`.',
    429,
  ),
  DOCUMENT_NOT_TRUSTED: meaning(
    'The operator has set `TRUSTED_DOCUMENTS_ONLY`, and the document is not in the file of `TRUSTED_DOCUMENTS`.',
    'Send the `documentId` of a known document.',
    403,
  ),
};

/** The codes of the GraphQL server: other servers have them, too. */
export const SERVER_ERRORS = {
  GRAPHQL_PARSE_FAILED: meaning('The document has a syntax error.', 'Correct the document.'),
  GRAPHQL_VALIDATION_FAILED: meaning(
    'The document does not fit the schema, such as by an unknown field.',
    'Correct the document.',
  ),
  OPERATION_RESOLUTION_FAILURE: meaning(
    'The document has no operation named `operationName`; or it has several, and `operationName` is missing.',
    'Send the name of one of them.',
    400,
  ),
  PERSISTED_QUERY_NOT_FOUND: meaning(
    'The gateway does not have the document with this hash. For an unknown `documentId`, the status is 400. With `TRUSTED_DOCUMENTS_ONLY`, an unknown hash gets `DOCUMENT_NOT_TRUSTED`.',
    'Send the document with the hash. Clients of persisted queries do this themselves. For an unknown `documentId`, tell the operator.',
  ),
  PERSISTED_QUERY_MISMATCH: meaning('The hash is not the SHA-256 of the document.', 'Correct the hash.', 400),
  BAD_REQUEST: meaning(
    'The HTTP request is not a valid GraphQL request. A wrong method gets 405, a wrong `Accept` 406, a wrong `Content-Type` or `Content-Encoding` 415. If only `query` is missing, the status is 200.',
    'Correct the request. The message names the expected form.',
    400,
  ),
  INTERNAL_SERVER_ERROR: meaning(
    'The gateway has a fault; its log has the details. If the response has no data, its status can be 500.',
    'Tell the operator, with the `x-request-id`.',
  ),
};

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

/** True if metrics count errors with this code separately when the client caused them (`scope="client"`). */
export function hasScope(code: string): boolean {
  return code === 'OVERLOADED' || code === 'RATE_LIMITED' || code.startsWith('UPSTREAM_');
}
