import { setClock } from './parts/clock.js';
import { button, make } from './parts/dom.js';

const TIME_LIMIT_MS = 60_000;
/** The page's own code for an unreachable gateway; all other codes come from the gateway. */
const UNREACHABLE = 'GATEWAY_UNREACHABLE';

/** A failed query, with a message for a person. */
export class QueryError extends Error {
  /**
   * @param {string} message
   * @param {string} code
   */
  constructor(message, code) {
    super(message);
    this.code = code;
  }
}

/** @typedef {import('./queries.js').Query<unknown, unknown>} AnyQuery */
/** @typedef {{ query: AnyQuery, variables: object, tookMs: number, quiet: boolean }} Answered */
/** @typedef {{ signal?: AbortSignal, quiet?: boolean }} AskOptions quiet: sent by the page itself, not for an action of a person */
/** @typedef {{ data?: unknown, errors?: { message: string, extensions?: { code?: string } }[] }} Answer */

/**
 * Makes the function that sends queries to the graph.
 *
 * @param {string} endpoint
 * @param {(answered: Answered) => void} onAnswered called after each successful query
 */
export function createGraph(endpoint, onAnswered) {
  /**
   * Sends a query by POST.
   *
   * @template Data
   * @template {object} Variables
   * @param {import('./queries.js').Query<Data, Variables>} query
   * @param {Variables} variables
   * @param {AskOptions} [options]
   * @returns {Promise<Data>}
   * @throws {QueryError} also if a root field is null because of an error
   */
  return async function ask(query, variables, { signal, quiet = false } = {}) {
    const askedAt = performance.now();
    const limit = AbortSignal.timeout(TIME_LIMIT_MS);
    const answer = await send(
      endpoint,
      query.text,
      variables,
      signal ? AbortSignal.any([signal, limit]) : limit,
    );
    const [error] = answer.errors ?? [];
    const data = /** @type {Data | null | undefined} */ (answer.data);
    if (error && (!data || Object.values(data).includes(null))) {
      throw new QueryError(error.message, error.extensions?.code ?? '');
    }
    if (!data)
      throw new QueryError(
        'The response of the gateway has neither data nor errors. Reload the page to try again.',
        '',
      );
    const tookMs = performance.now() - askedAt;
    onAnswered({ query: /** @type {AnyQuery} */ (query), variables, tookMs, quiet });
    return data;
  };
}

/** @typedef {ReturnType<typeof createGraph>} Ask */

/**
 * @param {string} endpoint
 * @param {string} query
 * @param {object} variables
 * @param {AbortSignal} signal
 * @returns {Promise<Answer>}
 */
async function send(endpoint, query, variables, signal) {
  /** @type {Response | undefined} */
  let response;
  try {
    response = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query, variables }),
      signal,
    });
    setClock(response);
    return await response.json();
  } catch (error) {
    if (isCancelled(error)) throw error;
    if (response)
      throw new QueryError(
        `The gateway answered with HTTP status ${response.status}, and not with JSON.`,
        UNREACHABLE,
      );
    throw new QueryError('The gateway does not answer.', UNREACHABLE);
  }
}

/**
 * Whether a query was cancelled because of a newer one. This is no failure.
 *
 * @param {unknown} error
 */
export function isCancelled(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}

/**
 * Whether the gateway itself could not be reached.
 *
 * @param {unknown} error
 */
export function isUnreachable(error) {
  return error instanceof QueryError && error.code === UNREACHABLE;
}

/**
 * What a person can do about a failure, if its message does not say so.
 *
 * @type {ReadonlyMap<string, string>}
 */
const ADVICE = new Map([
  [UNREACHABLE, 'Check that it is running. This page tries again by itself.'],
  ['UPSTREAM_MALFORMED', 'Try again in a minute. If it still fails, tell the operator of the gateway.'],
]);

/**
 * Shows a failure and what to do about it; without an error, removes what was shown.
 *
 * @param {HTMLElement} place
 * @param {unknown} [error]
 * @param {() => void} [again]
 */
export function showError(place, error, again) {
  if (error === undefined) {
    place.replaceChildren();
    return;
  }
  const { message, code } = error instanceof QueryError ? error : new QueryError(String(error), '');
  const text = `${message} ${ADVICE.get(code) ?? ''}`.trim();
  // Screen readers would read the same failure out again after each attempt.
  if (place.querySelector('p')?.textContent?.startsWith(text)) return;
  const said = make('p', {}, `${text} `, ...(code ? [make('code', {}, code)] : []));
  place.replaceChildren(
    make('div', { class: 'fault' }, said, ...(again ? [button('Try again', again)] : [])),
  );
}
