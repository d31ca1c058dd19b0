/** Gives each request an id, for logs and for `x-request-id`. */
import { randomUUID } from 'node:crypto';
import { TEXT_LIMITS } from '../domain/text-limits.js';

const REQUEST_ID = /^[\w.:/+=-]+$/;
const requestIds = new WeakMap<Request, string>();

/**
 * The id of a request, always the same for one request. It is the `x-request-id` header if that is short and plain, and
 * so safe in logs and responses. Otherwise it is a new id.
 */
export function requestIdOf(request: Request): string {
  const known = requestIds.get(request);
  if (known) return known;
  const id = requestIdFrom(request.headers.get('x-request-id'));
  requestIds.set(request, id);
  return id;
}

/** The id for a request with this `x-request-id` header. */
export function requestIdFrom(given: string | null | undefined): string {
  const isUsable = given && given.length <= TEXT_LIMITS.requestId && REQUEST_ID.test(given);
  return isUsable ? given : nextId();
}

const PROCESS_ID = randomUUID().slice(0, 24);
let count = 0;

/** A process id and a counter in the form of a UUID. A random UUID would make cache hits noticeably slower. */
function nextId(): string {
  count += 1;
  return `${PROCESS_ID}${count.toString(16).padStart(12, '0')}`;
}
