/** The errors of requests to the upstream, and which of them are retried. */
import type { Response } from 'undici';
import { malformed, UpstreamError } from '../../domain/upstream-error.js';
import { growingPause, withJitter } from '../../scheduling/growing-pause.js';

/** Long enough for a short fault, short enough for a client. */
const FIRST_RETRY_PAUSE_MS = 200;
/** The longest wait for the end of a pause, or before a retry. If the delay is longer, the request fails. */
export const MAX_WAIT_MS = 10_000;
/** An address that is gone gets no requests for this long; each further such answer in a row doubles the time. */
export const GONE_PAUSE_MS = 60_000;
const SAYS_DEPRECATED = /(?<![a-z])deprecated(?![a-z])/i;

/** The error for an answer whose status is not 200. @param body the beginning of its body */
export function statusError({ status, headers }: Response, url: string, body: string): UpstreamError {
  const detail = `${url}: HTTP ${status} ${body}`;
  if (status === 410 || (status >= 400 && saysDeprecated(body, url))) return gone(status, detail);
  const code = status === 429 ? 'UPSTREAM_RATE_LIMITED' : 'UPSTREAM_STATUS';
  const message =
    status === 429
      ? 'The upstream asks for fewer requests (HTTP 429).'
      : `Expected HTTP status 200 of the upstream, got ${status}.`;
  const retryAfterMs = millisecondsOf(headers.get('retry-after'));
  return new UpstreamError(code, `${message} Try again in a minute.`, { status, detail, retryAfterMs });
}

/** The error for an answer with status 200 whose body is an error that says "deprecated". */
export function goneError(json: unknown, url: string): UpstreamError | undefined {
  const { error } = Object(json) as { readonly error?: unknown };
  const said = typeof error === 'string' ? error : (Object(error) as { readonly message?: unknown }).message;
  if (typeof said !== 'string' || !saysDeprecated(said, url)) return undefined;
  return gone(200, `${url}: HTTP 200 with an error that says "deprecated"`);
}

/** The word does not count if the query of the URL has it, too: the error can repeat this text of a client. */
function saysDeprecated(text: string, url: string): boolean {
  return SAYS_DEPRECATED.test(text) && !/\?.*deprecated/is.test(url);
}

function gone(status: number, detail: string): UpstreamError {
  const message = `The upstream says that it is ${status === 410 ? 'gone' : 'deprecated'} (HTTP ${status}). Tell the operator of this gateway.`;
  return new UpstreamError('UPSTREAM_GONE', message, { status, detail, retryAfterMs: GONE_PAUSE_MS });
}

/** The milliseconds of a Retry-After header, which is a date or a number of seconds; undefined for other values. */
function millisecondsOf(value: string | null): number | undefined {
  if (!value) return undefined;
  const isDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(value);
  const seconds = /^\d+$/.test(value) ? Number(value) : Number.NaN;
  const ms = isDate ? Date.parse(value) - Date.now() : seconds * 1000;
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** The wait before the next attempt (ms); undefined if a retry cannot help. */
export function retryDelay(attempt: number, { code, status = 0, retryAfterMs = 0 }: UpstreamError) {
  const isTransient =
    code === 'UPSTREAM_TIMEOUT' ||
    code === 'UPSTREAM_UNREACHABLE' ||
    (code === 'UPSTREAM_RATE_LIMITED' && status === 429) ||
    (code === 'UPSTREAM_STATUS' && status >= 500);
  if (!isTransient || retryAfterMs > MAX_WAIT_MS) return undefined;
  const pauseMs = withJitter(growingPause(FIRST_RETRY_PAUSE_MS, MAX_WAIT_MS, attempt));
  return Math.max(pauseMs, retryAfterMs);
}

export function timeoutError(timeoutMs: number, url: string): UpstreamError {
  const message = `The upstream did not answer within ${timeoutMs} ms. Try again in a few seconds.`;
  return new UpstreamError('UPSTREAM_TIMEOUT', message, { detail: url });
}

export function stoppingError(): UpstreamError {
  const message =
    'The gateway is stopping and sends no more requests to the upstream. Try again in a few seconds.';
  return new UpstreamError('UPSTREAM_UNREACHABLE', message, { notSent: true });
}

/** The error for an exception of undici: the connection or the decompression failed. */
export function networkError(error: unknown, url: string, connectTimeoutMs: number): UpstreamError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const detail = `${url}: ${code} ${cause instanceof Error ? cause.message : String(cause)}`;
  if (/^(Z_|ERR__|ERR_BROTLI|ERR_ZLIB)/.test(code))
    return malformed('expected valid compression', detail, error);
  const isTimeout = code === 'UND_ERR_CONNECT_TIMEOUT';
  const message = isTimeout
    ? `The upstream did not accept the connection within ${connectTimeoutMs} ms.`
    : 'The upstream could not be reached, or its answer broke off.';
  const kind = isTimeout ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_UNREACHABLE';
  return new UpstreamError(kind, `${message} Try again in a few seconds.`, { detail, cause: error });
}
