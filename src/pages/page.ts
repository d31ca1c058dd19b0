import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

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

type Encoding = 'br' | 'gzip' | 'identity';

const compressors: Readonly<Record<Encoding, (body: Buffer) => Promise<Buffer>>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: promisify<Buffer, Buffer>(gzip),
  identity: async (body) => body,
};

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
    const encoding = bestOf(encodings);
    const making =
      kept.get(encoding) ?? compressors[encoding](Buffer.from(content)).then((body) => new Uint8Array(body));
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

function bestOf(encodings: string): Encoding {
  const accepted = new Set(
    encodings
      .toLowerCase()
      .split(',')
      .filter((encoding) => !/;\s*q=0(\.0*)?\s*$/.test(encoding))
      .map((encoding) => encoding.split(';')[0]?.trim()),
  );
  if (accepted.has('br')) return 'br';
  return accepted.has('gzip') ? 'gzip' : 'identity';
}
