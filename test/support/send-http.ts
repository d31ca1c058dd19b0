/** HTTP requests with only the headers that a test gives, and responses as they came, compressed or not. */
import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import * as zlib from 'node:zlib';

export interface Received {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Sends a request by `node:http`, which adds only the headers that HTTP/1.1 needs, and reads the whole response. */
export function sendHttp(
  url: string,
  { body, ...options }: RequestOptions & { readonly body?: string | Buffer | undefined } = {},
): Promise<Received> {
  return new Promise((resolve, reject) => {
    request(url, options)
      .once('response', (response) =>
        buffer(response).then(
          (received) =>
            resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }),
          reject,
        ),
      )
      .once('error', reject)
      .end(body);
  });
}

/** Sends a request as a browser does. Unlike with `fetch`, the body of the response stays compressed. */
export const getAsBrowser = (address: string, path: string, headers: Record<string, string> = {}) =>
  sendHttp(`${address}${path}`, { headers: { accept: 'text/html,*/*;q=0.8', ...headers } });

const { zstdDecompressSync } = zlib as { zstdDecompressSync?: (body: Buffer) => Buffer };

export const hasZstd = zstdDecompressSync !== undefined;

const DECODERS: Readonly<Record<string, ((body: Buffer) => Buffer) | undefined>> = {
  identity: (body) => body,
  // GraphQL Yoga sends it with event streams.
  none: (body) => body,
  br: zlib.brotliDecompressSync,
  gzip: zlib.gunzipSync,
  zstd: zstdDecompressSync,
};

export function plainOf({ headers, body }: Received): Buffer {
  const encoding = headers['content-encoding'] ?? 'identity';
  const decode = DECODERS[encoding];
  if (!decode) throw new Error(`Expected a known encoding, got ${encoding}`);
  return decode(body);
}
