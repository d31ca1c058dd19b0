/** The errors of requests to the upstream. */
import { ERROR_CODES, type ErrorCode } from './error-codes.js';
import { GatewayError, type GatewayErrorOptions } from './errors.js';

export type UpstreamErrorCode = Extract<ErrorCode, `UPSTREAM_${string}`>;

export const UPSTREAM_ERROR_CODES = ERROR_CODES.filter((code): code is UpstreamErrorCode =>
  code.startsWith('UPSTREAM_'),
);

export interface UpstreamErrorOptions extends GatewayErrorOptions {
  /** For the log only, such as the URL and the status. */
  readonly detail?: string | undefined;
  readonly status?: number | undefined;
  /** The wait before the next request (ms), which is rounded up: the upstream's `Retry-After`, or the rest of a pause. */
  readonly retryAfterMs?: number | undefined;
  /** True if the gateway did not send the request, so that it cost the upstream nothing. */
  readonly notSent?: boolean | undefined;
}

/** A request to the upstream failed, or its answer cannot be used. Clients see the message. */
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
    this.retryAfterMs = options.retryAfterMs && Math.ceil(options.retryAfterMs);
    this.notSent = options.notSent ?? false;
  }
}

/** The same error, marked as caused by the client: it asked for an unlisted token, or repeated a failed request early. */
export function causedByClient(error: UpstreamError): UpstreamError {
  return withOptions(error, { isByClient: true });
}

/** The same error of the successor, whose line in the log also says why the successor was asked. */
export function afterFailover(error: UpstreamError, { detail }: UpstreamError): UpstreamError {
  return withOptions(error, { detail: `${error.detail ?? 'the successor'}; asked because of: ${detail}` });
}

function withOptions(error: UpstreamError, options: UpstreamErrorOptions): UpstreamError {
  const { code, message, detail, status, retryAfterMs, notSent, cause, isByClient } = error;
  const same = { detail, status, retryAfterMs, notSent, cause, isByClient };
  return new UpstreamError(code, message, { ...same, ...options });
}

/** The upstream's answer does not have the specified form. Clients see `reason`, such as "expected JSON, got HTML". */
export function malformed(reason: string, detail?: string, cause?: unknown): UpstreamError {
  return new UpstreamError('UPSTREAM_MALFORMED', `The upstream's answer cannot be used: ${reason}.`, {
    detail,
    cause,
  });
}

/** The thrown UpstreamError. Any other error is an internal one: it is wrapped, and clients see only that it happened. */
export function asUpstreamError(thrown: unknown): UpstreamError {
  if (thrown instanceof UpstreamError) return thrown;
  return malformed('it caused an internal error of the gateway; the log has the cause', undefined, thrown);
}
