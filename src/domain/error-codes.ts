/** The error codes that this gateway adds to those of the GraphQL server: status, meaning and advice. */

/** @param status the HTTP status, if this code has one of its own; otherwise 200 */
const meaning = (happened: string, advice: string, status = 200) => ({ happened, advice, status });

/** Clients compare these codes: never rename one. The guide to error codes is printed from this table. */
export const ERRORS = {
  UPSTREAM_TIMEOUT: meaning('The upstream did not answer in time.', 'Retry in a few seconds.'),
  UPSTREAM_UNREACHABLE: meaning(
    'The gateway could not connect to the upstream, or the connection broke.',
    'Retry in a few seconds.',
  ),
  UPSTREAM_STATUS: meaning('The upstream answered with an HTTP status other than 200.', 'Retry in a minute.'),
  UPSTREAM_GONE: meaning(
    'The upstream answered 410, or with an error that says "deprecated": it is switched off. The gateway asks it again after a minute, and then less and less often, down to once an hour.',
    'Tell the operator of the gateway.',
  ),
  UPSTREAM_RATE_LIMITED: meaning(
    'The upstream, or the gateway on its behalf, asks for fewer requests.',
    'Retry in a minute.',
  ),
  UPSTREAM_MALFORMED: meaning(
    'The response of the upstream was not JSON, too large, empty or not as specified; or a listing is held back.',
    'Retry in a minute; then tell the operator.',
  ),
  ROUTE_BUDGET_EXCEEDED: meaning(
    'One operation asked for the routes of too many tokens: more than 10 that were not cached.',
    'Ask for the rest in another operation.',
  ),
  LIMIT_EXCEEDED: meaning(
    'The operation has too many levels, aliases, lexical tokens or rows, costs too much, has a name of more than 200 characters, or its response would have more than 8 MiB (or 1,000 bytes for each listed token, if that is more). Nothing is sent in part. A request body that is too large is HTTP 413.',
    'The message names the limit and the value.',
  ),
  BAD_USER_INPUT: meaning(
    'An argument or a variable has an invalid value.',
    'The message says what was expected.',
  ),
  OVERLOADED: meaning(
    'The gateway is busy and did not execute the operation. With HTTP status 200, it did not finish the part that is null.',
    'Retry after the seconds in `Retry-After`, or after one second without that header.',
    503,
  ),
  RATE_LIMITED: meaning(
    'This client had more operations executed than `RATE_LIMIT` allows.',
    'Retry after the seconds in `Retry-After`.',
    429,
  ),
  DOCUMENT_NOT_TRUSTED: meaning(
    'The operator has set `TRUSTED_DOCUMENTS_ONLY`, and this document is not in the file.',
    'Ask by the `documentId` of a known document.',
    403,
  ),
};

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

/** True for a code whose errors metrics count separately if the client has caused them (`scope="client"`). */
export function hasScope(code: string): boolean {
  return code === 'OVERLOADED' || code === 'RATE_LIMITED' || code.startsWith('UPSTREAM_');
}
