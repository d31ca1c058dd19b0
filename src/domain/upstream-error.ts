import { ERROR_CODES, type ErrorCode } from './error-codes.js';
import { GatewayError } from './errors.js';

export type UpstreamErrorCode = Extract<ErrorCode, `UPSTREAM_${string}`>;

export const UPSTREAM_ERROR_CODES = ERROR_CODES.filter((code): code is UpstreamErrorCode =>
  code.startsWith('UPSTREAM_'),
);

export interface UpstreamErrorOptions extends ErrorOptions {
  /** For the log only: address, status, beginning of the body. */
  readonly detail?: string | undefined;
  /** The status of the upstream's answer, if there was one. */
  readonly status?: number | undefined;
  /** The upstream's Retry-After, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** True if the gateway did not send the request: it cost the upstream nothing. */
  readonly notSent?: boolean | undefined;
}

/** A request to the upstream failed, or its answer cannot be used. The message is safe to show to clients. */
export class UpstreamError extends GatewayError {
  override readonly name = 'UpstreamError';
  declare readonly code: UpstreamErrorCode;
  readonly detail: string | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly notSent: boolean;

  constructor(code: UpstreamErrorCode, message: string, options: UpstreamErrorOptions = {}) {
    super(code, message, options);
    this.detail = options.detail;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
    this.notSent = options.notSent ?? false;
  }
}

/**
 * The upstream's answer does not have the specified form.
 *
 * @param reason what was expected and what came; clients see it
 */
export function malformed(reason: string, detail?: string, cause?: unknown): UpstreamError {
  return new UpstreamError('UPSTREAM_MALFORMED', `The upstream's answer cannot be used: ${reason}.`, {
    detail,
    cause,
  });
}
