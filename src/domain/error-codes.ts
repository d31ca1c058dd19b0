/** The error codes that this gateway adds to those of the GraphQL server: status, meaning and advice. */

interface ErrorMeaning {
  /** The HTTP status, if this code has one of its own; 200 unless given. */
  readonly status?: number;
  readonly happened: string;
  readonly advice: string;
}

/** Clients compare these codes: never rename one. The guide to error codes is printed from this table. */
export const ERRORS = {
  UPSTREAM_TIMEOUT: {
    happened: 'The upstream did not answer in time.',
    advice: 'Retry in a few seconds.',
  },
  UPSTREAM_UNREACHABLE: {
    happened: 'The gateway could not connect to the upstream, or the connection broke.',
    advice: 'Retry in a few seconds.',
  },
  UPSTREAM_STATUS: {
    happened: 'The upstream answered with an HTTP status other than 200.',
    advice: 'Retry in a minute.',
  },
  UPSTREAM_GONE: {
    happened:
      'The upstream answered 410, or with an error that says "deprecated": it is switched off. The gateway asks it again after a minute, and then less and less often, down to once an hour.',
    advice: 'Tell the operator of the gateway.',
  },
  UPSTREAM_RATE_LIMITED: {
    happened: 'The upstream, or the gateway on its behalf, asks for fewer requests.',
    advice: 'Retry in a minute.',
  },
  UPSTREAM_MALFORMED: {
    happened:
      'The response of the upstream was not JSON, too large, empty or not as specified; or a listing is held back.',
    advice: 'Retry in a minute; then tell the operator.',
  },
  ROUTE_BUDGET_EXCEEDED: {
    happened: 'One operation asked for the routes of too many tokens: more than 10 that were not cached.',
    advice: 'Ask for the rest in another operation.',
  },
  LIMIT_EXCEEDED: {
    happened:
      'The operation has too many levels, aliases, lexical tokens or rows, costs too much, has a name of more than 200 characters, or its response would have more than 8 MiB (or 1,000 bytes for each listed token, if that is more). Nothing is sent in part. A request body that is too large is HTTP 413.',
    advice: 'The message names the limit and the value.',
  },
  BAD_USER_INPUT: {
    happened: 'An argument or a variable has an invalid value.',
    advice: 'The message says what was expected.',
  },
  OVERLOADED: {
    status: 503,
    happened:
      'The gateway is busy and did not execute the operation. With HTTP status 200, it did not finish the part that is null.',
    advice: 'Retry after the seconds in `Retry-After`, or after one second without that header.',
  },
  RATE_LIMITED: {
    status: 429,
    happened: 'This client had more operations executed than `RATE_LIMIT` allows.',
    advice: 'Retry after the seconds in `Retry-After`.',
  },
  DOCUMENT_NOT_TRUSTED: {
    status: 403,
    happened: 'The operator has set `TRUSTED_DOCUMENTS_ONLY`, and this document is not in the file.',
    advice: 'Ask by the `documentId` of a known document.',
  },
} as const satisfies Readonly<Record<string, ErrorMeaning>>;

export type ErrorCode = keyof typeof ERRORS;

export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorCode[];

/** True for a code whose errors metrics count separately if the client has caused them (`scope="client"`). */
export function hasScope(code: string): boolean {
  return code === 'OVERLOADED' || code === 'RATE_LIMITED' || code.startsWith('UPSTREAM_');
}
