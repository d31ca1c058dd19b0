/** Makes pages from the files of their folders, and serves their files compressed once and with caching headers. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname } from 'node:path';
import { Body, encodingFor } from '../http/encodings.js';
import { hasTag } from '../http/headers.js';
import { type PlainResponse, plainRefusal } from '../http/refusal.js';

/** A HEAD request arrives as GET. Returns undefined for a path that it does not serve. */
export type PathAnswer<Context = unknown> = (
  request: Request,
  url: URL,
  context: Context,
) => PlainResponse | Promise<PlainResponse> | undefined;

/** A file, and its headers but `etag` and `content-encoding`. */
interface StaticFile {
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;
}

export type Page = ReturnType<typeof createPage>;

/** A file beside the document of a page. Its name is its path, below the path that all assets of the page share. */
export interface PageFile {
  readonly name: string;
  readonly content: string | Uint8Array<ArrayBuffer>;
}

interface PageOptions {
  /** The folder with `index.html` and the files beside it. The build copies it beside the compiled code. */
  readonly folder: string;
  /** The path of the folder of its assets, such as `/picker/`. */
  readonly base: string;
  /** Assets besides the files of the folder. */
  readonly otherFiles: readonly PageFile[];
  /** The texts that replace placeholders such as `{{links}}` in `index.html`, besides `{{preloads}}`. They are markup. */
  readonly texts: Readonly<Record<string, string>>;
  readonly contentSecurityPolicy: readonly string[];
}

/** A small document, and assets with a digest of their content in the path. In the document, `./` is their address. */
export function createPage({ folder, base, otherFiles, texts, contentSecurityPolicy }: PageOptions) {
  const files = [...readPageFiles(folder), ...otherFiles];
  // One digest for all: scripts import each other by name, so a change of one must change every path.
  const path = `${base}${digestOf(files)}/`;
  // Without preloads the browser would fetch these modules only after `main.js`, which imports all of them.
  const preloads = files
    .filter(({ name }) => name.endsWith('.js') && name !== 'main.js')
    .map(({ name }) => `<link rel="modulepreload" href="./${name}">`);
  const allTexts: PageOptions['texts'] = { ...texts, preloads: preloads.join('\n') };
  const html = read(folder, 'index.html')
    .replaceAll(/\{\{([\w ]+)\}\}/g, (_, name: string) => allTexts[name] ?? '')
    .replaceAll(/(?<=(?:href|src)=")\.\//g, path)
    .replaceAll(/^ +/gm, '');
  return {
    // It varies by Accept, since the path of the playground also serves GraphQL clients.
    document: createFile(html, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': contentSecurityPolicy.join('; '),
      vary: 'Accept, Accept-Encoding',
    }),
    path,
    /** By their names below `path`. */
    assets: new Map(
      files.map(({ name, content }) => {
        // Browsers may cache an asset for a year, because its path changes with its content.
        const headers = {
          'content-type': `${TYPES[extname(name)]}; charset=utf-8`,
          'cache-control': 'public, max-age=31536000, immutable',
          vary: 'Accept-Encoding',
        };
        return [name, createFile(content, headers)];
      }),
    ),
  };
}

/** The content type of each kind of file that is served, by the ending of its name. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

/** The folder of the styles that a style beside it imports. */
const STYLES = 'styles';

/** Reads the files of a page's folder that are served beside its document. */
export function readPageFiles(folder: string): readonly PageFile[] {
  // Sorted, because the order decides the digest in the paths, and all gateways must serve the same paths.
  return readdirSync(folderOf(folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => TYPES[extname(name)] && extname(name) !== '.html' && dirname(name) !== STYLES)
    .sort()
    .map((name) => {
      // Imported styles take the places of their imports: the browser then needs one request for all.
      const whole = read(folder, name).replaceAll(/^@import "(.+)";\n/gm, (_, part) => read(folder, part));
      const text = withoutComments(whole);
      return { name, content: name.endsWith('.css') ? compactStyle(text) : compactScript(text) };
    });
}

/**
 * Removes the comments that fill whole lines of a script or style, and the types within lines: they would be a quarter
 * of the bytes. Also removes empty lines, so a text in a script writes one as `\n`.
 */
function withoutComments(text: string): string {
  return text
    .replaceAll(/^ *(\/\*((?!\*\/).)*\*\/|\/\/[^\n]*)\n/gms, '')
    .replaceAll(/\/\*\* @type [^*]+\*\/ /g, '')
    .replaceAll(/\n+/g, '\n');
}

/** Removes the line breaks of a style, and the spaces that it does not need. Texts in quotes stay as they are. */
function compactStyle(style: string): string {
  return style
    .replaceAll(/("[^"\n]*")|\n */g, (_, quoted = ' ') => quoted)
    .replaceAll(/("[^"]*")|;(?= ?\})|([:,;{}>~/]) | (?=[{}>~/])/g, '$1$2');
}

/**
 * Removes the indents of a script, and line breaks that separate nothing, since every statement ends with `;` or `}`; but
 * none in a text of several lines, or after a comment. Scripts write a backtick that neither begins nor ends a text as
 * `\x60`.
 */
function compactScript(script: string): string {
  let isInText = false;
  return script.replaceAll(/^(.*)\n(?= *(.?))/gm, (whole, line: string, next: string) => {
    const isOfText = isInText;
    if (line.replaceAll('\\`', '').split('`').length % 2 === 0) isInText = !isInText;
    const separates = !/[{}()[,;:?]$/.test(line) && !/[})\].?:|&]/.test(next);
    const kept = isInText || line.includes('//') || separates ? whole : line;
    return isOfText ? kept : kept.replace(/^ +/, '');
  });
}

const folderOf = (folder: string) => new URL(`./${folder}/`, import.meta.url);
const read = (folder: string, name: string) => readFileSync(new URL(name, folderOf(folder)), 'utf8');

/** Matches the digest and the name in the path of an asset, below the path of the folder of all assets. */
const DIGEST_AND_NAME = /^[\w-]{16}\/(.+)$/;

/**
 * Serves a page for browsers and its assets. The path of an asset of another version leads to the present one: during a
 * rolling upgrade, a browser can have the document of the other version. After a redirect, scripts import each other
 * relative to the new address, so all are of one version.
 *
 * @param paths the paths of its document, which is only sent to clients that accept HTML
 * @param assets the prefix of the paths of its assets
 * @param load called at the first request
 */
export function servePage(paths: readonly string[], assets: string, load: () => Page): PathAnswer {
  let page: Page | undefined;
  return (request, { pathname }) => {
    const wantsHtml = request.headers.get('accept')?.includes('text/html');
    const isDocument = paths.includes(pathname) && wantsHtml === true;
    if (request.method !== 'GET' || !(isDocument || pathname.startsWith(assets))) return undefined;
    page ??= load();
    if (isDocument) return fileResponse(page.document, request);
    const [, name = ''] = DIGEST_AND_NAME.exec(pathname.slice(assets.length)) ?? [];
    const file = page.assets.get(name);
    const location = page.path + name;
    if (!file || pathname === location) return file && fileResponse(file, request);
    return { status: 302, headers: { location, 'cache-control': 'no-store' }, body: null };
  };
}

/** Serves a file of plain text. Its path stays the same, so caches must revalidate it. @param make called at the first request */
export function serveText(make: () => string): PathAnswer {
  let file: StaticFile | undefined;
  return forGet((request) => {
    file ??= createFile(make(), {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-cache',
      vary: 'Accept-Encoding',
    });
    return fileResponse(file, request);
  });
}

/** Refuses other methods than GET and HEAD. */
export function forGet(answer: PathAnswer): PathAnswer {
  return (request, url, context) => {
    if (request.method === 'GET') return answer(request, url, context);
    const message = `Expected GET or HEAD, got ${request.method}.`;
    return plainRefusal({ status: 405, message, headers: { allow: 'GET, HEAD, OPTIONS' } });
  };
}

/** The response to a request for a file: 304 without a body if the client has this version. */
export async function fileResponse({ body, headers: common }: StaticFile, { headers: asked }: Request) {
  const { encoding, parts } = await body.encoded(encodingFor(asked.get('accept-encoding')));
  const coding = encoding === 'identity' ? undefined : { 'content-encoding': encoding };
  const headers = { ...common, ...coding, etag: body.etag };
  if (hasTag(asked.get('if-none-match'), body.etag)) return { status: 304, headers, body: null };
  return { status: 200, headers, body: parts[0] ?? null };
}

function digestOf(files: readonly PageFile[]): string {
  const hash = createHash('sha256');
  for (const { name, content } of files) hash.update(`${name}\n`).update(content);
  return hash.digest('base64url').slice(0, 16);
}

function createFile(content: PageFile['content'], headers: StaticFile['headers']): StaticFile {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  return { body: new Body([bytes], 'file'), headers };
}
