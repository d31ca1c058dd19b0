import { type IncomingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A response as received, not decompressed. */
export interface Got {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends a request as a browser does. The body stays compressed, unlike with `fetch`. */
export async function getAsBrowser(
  address: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Got> {
  return new Promise((resolve, reject) => {
    request(`${address}${path}`, { headers: { accept: 'text/html,*/*;q=0.8', ...headers } }, (response) => {
      const { statusCode: status, headers } = response;
      buffer(response).then((body) => resolve({ status, headers, body }), reject);
    })
      .on('error', reject)
      .end();
  });
}
