import { type Received, sendHttp } from './send-http.js';

/** Sends a request as a browser does. The body stays compressed, unlike with `fetch`. */
export const getAsBrowser = (
  address: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Received> =>
  sendHttp(`${address}${path}`, { headers: { accept: 'text/html,*/*;q=0.8', ...headers } });
