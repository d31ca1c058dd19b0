/** Sends queries to the graph, and explains failures to people. */
import { setClock } from './dom.js';

/** Twice the time in which the gateway answers every operation. */
const TIME_LIMIT_MS = 60_000;
/** The only code that the page itself defines; all others are codes of the gateway. */
export const UNREACHABLE = 'GATEWAY_UNREACHABLE';
const GONE = 'UPSTREAM_GONE';

/** The failure of a query, with a message for people. */
export class QueryError extends Error {
  /** @param {string} message @param {string} code */
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/**
 * A query, and its answer, with everything that the code panel shows.
 *
 * @typedef {object} Answered
 * @property {string} query
 * @property {object} variables
 * @property {string} text the body of the response; empty until it comes
 * @property {number} tookMs NaN until then
 * @property {string} [cacheStatus] undefined without a response
 */

/**
 * Sends a query by POST, and gives its data.
 *
 * @param {string} query
 * @param {object} variables
 * @param {{ signal?: AbortSignal, onAnswered?: (answered: Answered) => void }} [options] onAnswered is called before the
 *   answer is returned, also for an answer with errors
 * @returns {Promise<any>} the data
 * @throws {QueryError} also if there are errors and a root field, or an item of its list, is null; or an AbortError
 */
export async function ask(query, variables, { signal, onAnswered } = {}) {
  const limit = AbortSignal.timeout(TIME_LIMIT_MS);
  const began = performance.now();
  let text = 'no answer';
  let response;
  onAnswered?.({ query, variables, text: '', tookMs: Number.NaN });
  try {
    response = await fetch(document.body.dataset.endpoint ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query, variables }),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    text = (await response.text()) || text;
  } catch (error) {
    if (isCancelled(error)) throw error;
    onAnswered?.({ query, variables, text, tookMs: performance.now() - began });
    throw failure(UNREACHABLE);
  }
  setClock(response.headers.get('date'));
  const cacheStatus = response.headers.get('cache-status') ?? '';
  onAnswered?.({ query, variables, text, tookMs: performance.now() - began, cacheStatus });
  const { data, errors } = parse(text);
  if (data && !(errors && Object.values(data).flat().includes(null))) return data;
  throw failure(errors?.[0]?.extensions?.code ?? UNREACHABLE, errors?.[0]?.message);
}

/** @param {string} text @returns {any} `{}` for a text that is not JSON, such as the error page of a proxy */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** Whether a query was cancelled because of a newer one, which is not a failure. @param {unknown} error */
export function isCancelled(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** Whether a query that failed may soon succeed. After too many queries, only the next poll of the listings tries again. @param {unknown} error */
export function isPassing(error) {
  if (!(error instanceof QueryError) || error.code === 'RATE_LIMITED' || error.code === GONE) return false;
  return reasonFor(error.code) !== undefined;
}

/** @param {string} code @param {string} [message] the message of the gateway */
function failure(code, message = '') {
  const reason = reasonFor(code);
  const next = code === GONE ? 'The operator of this gateway must choose another service.' : 'Retrying…';
  return new QueryError(reason ? `${reason} ${next}` : message, code);
}

/**
 * Why a query failed; undefined if the gateway's own message is better, such as for too many words.
 *
 * @param {string} code
 */
export function reasonFor(code) {
  if (code === UNREACHABLE) return 'This gateway does not answer.';
  if (code === 'OVERLOADED' || code === 'RATE_LIMITED') return 'There are too many requests now.';
  if (code === 'UPSTREAM_STATUS') return 'The token service answered with an error.';
  if (code === 'UPSTREAM_RATE_LIMITED') return 'The token service cannot take more requests now.';
  if (code === 'UPSTREAM_MALFORMED') return 'The token service sends invalid data.';
  if (code === GONE) return 'The token service has been shut down.';
  if (code.startsWith('UPSTREAM_')) return 'The token service does not answer.';
  return undefined;
}
