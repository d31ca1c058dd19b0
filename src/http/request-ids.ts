import { randomUUID } from 'node:crypto';

const REQUEST_ID = /^[\w.:/+=-]{1,128}$/;
const requestIds = new WeakMap<Request, string>();

/**
 * The request's id: the caller's `x-request-id` where it is short and plain, so that nothing odd gets into
 * logs and answers, and a new one elsewhere. One request always has the same.
 */
export function requestIdOf(request: Request): string {
  const known = requestIds.get(request);
  if (known) return known;
  const id = requestIdFrom(request.headers.get('x-request-id'));
  requestIds.set(request, id);
  return id;
}

/** The id of a request with this `x-request-id`. */
export function requestIdFrom(given: string | null | undefined): string {
  return given && REQUEST_ID.test(given) ? given : nextId();
}

const PROCESS_ID = randomUUID().slice(0, 24);
let count = 0;

/** An id in the form of a UUID, of this process and counted: to draw lots for each costs much of a small answer. */
function nextId(): string {
  count += 1;
  return `${PROCESS_ID}${count.toString(16).padStart(12, '0')}`;
}
