/**
 * The closed set of `extensions.code` values that this gateway adds to what the GraphQL server itself
 * defines. Clients branch on them: a code is never renamed.
 */
export const ERROR_CODES = [
  'UPSTREAM_TIMEOUT',
  'UPSTREAM_UNREACHABLE',
  'UPSTREAM_STATUS',
  'UPSTREAM_GONE',
  'UPSTREAM_RATE_LIMITED',
  'UPSTREAM_MALFORMED',
  'ROUTE_BUDGET_EXCEEDED',
  'LIMIT_EXCEEDED',
  'OVERLOADED',
  'BAD_USER_INPUT',
] as const;

/** One of {@link ERROR_CODES}. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/**
 * An error whose code and message are meant for clients. Everything else that is thrown is masked, so a
 * message here must name no upstream address, header or body.
 */
export class GatewayError extends Error {
  override readonly name: string = 'GatewayError';
  readonly code: ErrorCode;

  /**
   * @param code what clients branch on
   * @param message one or two sentences for a person: what was expected, what came, what to do next
   * @param options `cause`: kept for the log
   */
  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** An operation that goes so far beyond a limit that all of it is refused; it has no data at all. */
export class OperationLimitError extends GatewayError {
  override readonly name = 'OperationLimitError';
}
