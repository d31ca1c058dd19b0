import { ERROR_CODES, type ErrorCode, GatewayError } from '../errors.js';

/** The codes of what can go wrong with the upstream. */
export type UpstreamErrorCode = Extract<ErrorCode, `UPSTREAM_${string}`>;

/** All of them. */
export const UPSTREAM_ERROR_CODES = ERROR_CODES.filter((code): code is UpstreamErrorCode =>
  code.startsWith('UPSTREAM_'),
);

/** What {@link UpstreamError} takes beside code and message. */
export interface UpstreamErrorOptions extends ErrorOptions {
  /** For the log only: address, status, the head of the body. */
  readonly detail?: string | undefined;
  /** The status of the upstream's answer, if there was one. */
  readonly status?: number | undefined;
  /** How long the upstream asked to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** True where the gateway refused the question itself: it cost the upstream nothing. */
  readonly notSent?: boolean | undefined;
}

/** A question to the upstream that brought no usable answer. Its message is safe to show to clients. */
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

/** Says that the upstream's answer has another form than the specification gives it. */
export function malformed(what: string, detail?: string, cause?: unknown): UpstreamError {
  return new UpstreamError('UPSTREAM_MALFORMED', `The upstream's answer cannot be used: ${what}.`, {
    detail,
    cause,
  });
}
