/** Serves the files of pages, with their caching headers. */
import { createHash } from 'node:crypto';
import { Body, encodingFor } from '../http/encodings.js';
import { hasTag } from '../http/headers.js';
import type { PlainResponse } from '../http/refusal.js';

/** A file, compressed once for each encoding, and its headers except those of an encoding. */
export interface StaticFile {
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
}

/** A page: a small document, and assets with a digest of their content in the path. */
export interface Page {
  readonly document: StaticFile;
  /** The assets by their paths. */
  readonly assets: ReadonlyMap<string, StaticFile>;
}

/** A file for machines that a page links to. */
export interface FileLink {
  readonly path: string;
  readonly label: string;
}

/** Makes the document of a page. It varies by Accept, since the path of the playground also serves GraphQL clients. */
export function createDocument(html: string, contentSecurityPolicy: readonly string[]): StaticFile {
  return createFile(html, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': contentSecurityPolicy.join('; '),
    vary: 'Accept, Accept-Encoding',
  });
}

/** Makes an asset that browsers may cache for a year. Its path must change with its content. */
export function createAsset(type: string, content: string): StaticFile {
  return createFile(content, {
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
  });
}

/** Makes a file of plain text. Its path stays the same, so caches must revalidate it. */
export function createTextFile(content: string): StaticFile {
  return createFile(content, {
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-cache',
    vary: 'Accept-Encoding',
  });
}

/** Makes a label. In a small window its part after the colon has no size, but screen readers read it. */
export function pillOf(label: string): string {
  return `<p class="pill">${label.replace(/:.*/, '<span>$&</span>')}</p>`;
}

/** The response to a request for a file: 304 without a body if the client has this version. */
export async function fileResponse(
  { body, headers: common }: StaticFile,
  { headers: asked }: Request,
): Promise<PlainResponse> {
  const { encoding, parts } = await body.encoded(encodingFor(asked.get('accept-encoding')));
  const coding = encoding === 'identity' ? undefined : { 'content-encoding': encoding };
  const headers = { ...common, ...coding, etag: body.etag };
  if (hasTag(asked.get('if-none-match'), body.etag)) return { status: 304, headers, body: null };
  return { status: 200, headers, body: parts[0] ?? null };
}

/** A short digest of the content, for paths and ETags. */
export function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 16);
}

function createFile(content: string, headers: Readonly<Record<string, string>>): StaticFile {
  return { body: new Body([new TextEncoder().encode(content)], 'file'), headers };
}
