import { createHash } from 'node:crypto';
import { hasTag } from '../http/caching.js';
import { type Encoding, encode, encodingFor } from '../http/encodings.js';

/** A response body with its headers. */
export interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>> & { readonly etag: string };
}

/** Gives a file in the best encoding for a request. @param encodings the request's Accept-Encoding */
export type Encoded = (encodings: string) => Promise<PageFile>;

/** A page for browsers, served from this gateway only: a small document, and assets with a digest of their content in the path. */
export interface Page {
  readonly document: Encoded;
  /** By path. */
  readonly assets: ReadonlyMap<string, Encoded>;
}

/** A file for machines that a page links to. */
export interface FileLink {
  readonly path: string;
  readonly label: string;
}

/** The banner of pages that show demo data, as HTML. */
export const DEMO_LABEL =
  'Demo data: prices and some flags are made up. To use a real API, restart with <code>UPSTREAM_URL=…</code>.';

/** Makes the document of a page. It varies by Accept, since its path also serves clients that are no browsers. */
export function createDocument(html: string, contentSecurityPolicy: readonly string[]): Encoded {
  return createFile(html, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': contentSecurityPolicy.join('; '),
    vary: 'Accept, Accept-Encoding',
  });
}

/** Makes an asset that browsers may cache for ever: its path must change with its content. */
export function createAsset(type: string, content: string): Encoded {
  return createFile(content, {
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
  });
}

/** Makes a file of plain text. Its path stays the same, so caches must ask whether it has changed. */
export function createTextFile(content: string): Encoded {
  return createFile(content, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-cache',
    vary: 'Accept-Encoding',
  });
}

/** Answers a request for a file; 304 without the file if the client has it. */
export async function fileResponse(
  encoded: Encoded,
  { headers: asked }: Request,
  { Response: ResponseClass }: { readonly Response: typeof Response },
): Promise<Response> {
  const { body, headers } = await encoded(asked.get('accept-encoding') ?? '');
  const isUnchanged = hasTag(asked.get('if-none-match'), headers.etag);
  return new ResponseClass(isUnchanged ? null : body, { status: isUnchanged ? 304 : 200, headers });
}

/** A short digest of the content, for paths and ETags. */
export function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 16);
}

/** Encodes a file when an encoding is first requested, and caches the result. */
function createFile(content: string, headers: Readonly<Record<string, string>>): Encoded {
  const digest = digestOf(content);
  const bodies = new Map<Encoding, Promise<Uint8Array<ArrayBuffer>>>();
  return async (encodings) => {
    const encoding = encodingFor(encodings);
    const body =
      bodies.get(encoding) ??
      encode(Buffer.from(content), encoding, true).then((bytes) => new Uint8Array(bytes));
    bodies.set(encoding, body);
    return encoding === 'identity'
      ? { body: await body, headers: { ...headers, etag: `"${digest}"` } }
      : {
          body: await body,
          headers: { ...headers, etag: `"${digest}-${encoding}"`, 'content-encoding': encoding },
        };
  };
}
