import { malformed, type UpstreamError } from '../domain/upstream-error.js';

/** The last failed refresh, as clients may see it. */
export interface Failure {
  readonly error: UpstreamError;
  /** When it failed (milliseconds since 1970). */
  readonly at: number;
}

/** Names a failure that is a mistake of the gateway's own code; clients learn no more than that. */
export function internalError(cause: unknown): UpstreamError {
  return malformed('it met an internal error of the gateway, which the log tells', undefined, cause);
}
