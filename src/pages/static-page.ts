/** Serves the files of pages, with their caching headers. */
import { createHash } from 'node:crypto';
import { Body, encodingFor } from '../http/encodings.js';
import { hasTag } from '../http/headers.js';
import type { PlainResponse } from '../http/refusal.js';

export interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>> & { readonly etag: string };
}

/** Gives a file in the best encoding for a request. @param encodings the request's Accept-Encoding */
export type Encoded = (encodings: string) => Promise<PageFile>;

/** A page that loads everything from this gateway: a small document, and assets with a digest of their content in the path. */
export interface Page {
  readonly document: Encoded;
  /** The assets by their paths. */
  readonly assets: ReadonlyMap<string, Encoded>;
}

/** A file for machines that a page links to. */
export interface FileLink {
  readonly path: string;
  readonly label: string;
}

/** Makes the document of a page. It varies by Accept, since the path of the playground also serves GraphQL clients. */
export function createDocument(html: string, contentSecurityPolicy: readonly string[]): Encoded {
  return createFile(html, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': contentSecurityPolicy.join('; '),
    vary: 'Accept, Accept-Encoding',
  });
}

/** Makes an asset that browsers may cache for a year. Its path must change with its content. */
export function createAsset(type: string, content: string): Encoded {
  return createFile(content, {
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
  });
}

/** Makes a file of plain text. Its path stays the same, so caches must revalidate it. */
export function createTextFile(content: string): Encoded {
  return createFile(content, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-cache',
    vary: 'Accept-Encoding',
  });
}

/** The response to a request for a file: 304 without a body if the client has this version. */
export async function fileResponse(
  encoded: Encoded,
  { headers: requestHeaders }: Request,
): Promise<PlainResponse> {
  const { body, headers } = await encoded(requestHeaders.get('accept-encoding') ?? '');
  const isUnchanged = hasTag(requestHeaders.get('if-none-match'), headers.etag);
  return { status: isUnchanged ? 304 : 200, headers, body: isUnchanged ? null : body };
}

/** A short digest of the content, for paths and ETags. */
export function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 16);
}

/** Encodes a file when an encoding is first requested, and caches the result. */
function createFile(content: string, headers: Readonly<Record<string, string>>): Encoded {
  const file = new Body([new TextEncoder().encode(content)], 'file');
  return async (encodings) => {
    const { encoding, parts } = await file.encoded(encodingFor(encodings));
    const coding: Record<string, string> = encoding === 'identity' ? {} : { 'content-encoding': encoding };
    const [body = new Uint8Array()] = parts;
    return { body, headers: { ...headers, ...coding, etag: file.etag } };
  };
}
