import { setClock } from './clock.js';
import { button, make } from './dom.js';

const TIME_LIMIT_MS = 60_000;
/** Of faults on the way to the gateway; all other codes are the gateway's. */
const AWAY = 'GATEWAY_UNREACHABLE';

/** Why there is no answer, for a person. */
export class Fault extends Error {
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
/** @typedef {{ signal?: AbortSignal, quiet?: boolean }} AskOptions quiet: of the page's own accord, not a person's */
/** @typedef {{ data?: unknown, errors?: { message: string, extensions?: { code?: string } }[] }} Answer */

/**
 * Makes the way to the graph.
 *
 * @param {string} endpoint
 * @param {(answered: Answered) => void} onAnswered told of each question that was answered, and of how it was put
 */
export function createGraph(endpoint, onAnswered) {
  /**
   * Asks by POST.
   *
   * @template Data
   * @template {object} Variables
   * @param {import('./queries.js').Query<Data, Variables>} query
   * @param {Variables} variables
   * @param {AskOptions} [options]
   * @returns {Promise<Data>}
   * @throws {Fault} also where the field that was asked for is null because of an error
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
      throw new Fault(error.message, error.extensions?.code ?? '');
    }
    if (!data) throw new Fault('The gateway sent neither data nor an error.', '');
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
    if (isOutdated(error)) throw error;
    if (response) throw new Fault(`The gateway answered with status ${response.status}.`, AWAY);
    throw new Fault('The gateway does not answer.', AWAY);
  }
}

/**
 * Whether a question was given up for a newer one, which is no fault.
 *
 * @param {unknown} error
 */
export function isOutdated(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}

/**
 * Whether it was the gateway itself that could not be asked.
 *
 * @param {unknown} error
 */
export function isAway(error) {
  return error instanceof Fault && error.code === AWAY;
}

/**
 * What to do, where the message does not say it itself.
 *
 * @type {ReadonlyMap<string, string>}
 */
const ADVICE = new Map([
  [AWAY, 'Is it running? This page tries again by itself.'],
  ['UPSTREAM_MALFORMED', 'Try again in a minute; if it stays so, tell who runs the gateway.'],
]);

/**
 * Shows a fault and what to do, or, without one, shows that all is well again.
 *
 * @param {HTMLElement} place
 * @param {unknown} [error]
 * @param {() => void} [again]
 */
export function showFault(place, error, again) {
  if (error === undefined) {
    place.replaceChildren();
    return;
  }
  const { message, code } = error instanceof Fault ? error : new Fault(String(error), '');
  const text = `${message} ${ADVICE.get(code) ?? ''}`.trim();
  // The same fault is not read out again at each try.
  if (place.querySelector('p')?.textContent?.startsWith(text)) return;
  const said = make('p', {}, `${text} `, ...(code ? [make('code', {}, code)] : []));
  place.replaceChildren(
    make('div', { class: 'fault' }, said, ...(again ? [button('Try again', again)] : [])),
  );
}
