import { UpstreamError } from '../domain/upstream-error.js';
import type { UpstreamAnswer, UpstreamHttp, UpstreamRequest } from './http/client.js';

/**
 * Asks for the routes from a token. HTTP 422 is the services' way of saying that they do not know the token,
 * which is an answer: nothing can be reached from there.
 *
 * @throws UpstreamError
 */
export async function getRoutes(http: UpstreamHttp, request: UpstreamRequest): Promise<UpstreamAnswer> {
  const sentAt = Date.now();
  try {
    return await http.getJson(request);
  } catch (error) {
    // A service that is gone may say that with any status, and its code is another.
    if (error instanceof UpstreamError && error.code === 'UPSTREAM_STATUS' && error.status === 422) {
      return { json: { tokens: [] }, bytes: 0, sentAt };
    }
    throw error;
  }
}
