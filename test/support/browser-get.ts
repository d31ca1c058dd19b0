/** Fetches pages as a browser does, for tests of pages and of their compression. */
import { type Received, sendHttp } from './send-http.js';

/** Sends a request as a browser does. Unlike with `fetch`, the body of the response stays compressed. */
export const getAsBrowser = (
  address: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Received> =>
  sendHttp(`${address}${path}`, { headers: { accept: 'text/html,*/*;q=0.8', ...headers } });
