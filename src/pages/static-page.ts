import { createHash } from 'node:crypto';
import { type Encoding, encode, encodingFor } from '../http/encodings.js';

/** A body with the headers that go with it. */
export interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>> & { readonly etag: string };
}

/** A file in the encoding that suits the request. @param encodings the request's Accept-Encoding */
export type Encoded = (encodings: string) => Promise<PageFile>;

/** A page for browsers, made of files of our own: a small document, and assets which change their address when they change. */
export interface Page {
  readonly document: Encoded;
  /** By their paths. */
  readonly assets: ReadonlyMap<string, Encoded>;
}

/** What pages say of themselves while the listings are demo data. */
export const DEMO_LABEL =
  'Demo data: prices and some flags are made up. For a real listing set UPSTREAM_URL and start again.';

/** Makes the document of a page, whose address also answers clients that are no browsers. */
export function createDocument(html: string, contentSecurityPolicy: readonly string[]): Encoded {
  return createFile(html, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-cache',
    'content-security-policy': contentSecurityPolicy.join('; '),
    vary: 'Accept, Accept-Encoding',
    'x-content-type-options': 'nosniff',
  });
}

/** Makes an asset that browsers may keep for good: its address is to change when it does. */
export function createAsset(type: string, content: string): Encoded {
  return createFile(content, {
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
    'x-content-type-options': 'nosniff',
  });
}

/** What stands for this content in an address or a tag. */
export function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 16);
}

/** A file in each encoding, made when it is first asked for and kept. */
function createFile(content: string, headers: Readonly<Record<string, string>>): Encoded {
  const etag = `"${digestOf(content)}"`;
  const kept = new Map<Encoding, Promise<Uint8Array<ArrayBuffer>>>();
  return async (encodings) => {
    const encoding = encodingFor(encodings);
    const making =
      kept.get(encoding) ?? encode(Buffer.from(content), encoding).then((body) => new Uint8Array(body));
    kept.set(encoding, making);
    return {
      body: await making,
      headers: {
        ...headers,
        etag: encoding === 'identity' ? etag : etag.replace(/"$/, `-${encoding}"`),
        ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
      },
    };
  };
}
