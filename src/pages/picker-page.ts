/** Serves the token picker. */
import { readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import { DEMO_LABEL } from '../demo/listings.js';
import { createAsset, createDocument, digestOf, type FileLink, type Page, pillOf } from './static-page.js';

export interface PickerOptions {
  /** The path to which the page sends its queries. */
  readonly endpoint: string;
  /** The path of the folder of its files, such as `/picker/`. */
  readonly base: string;
  /** Whether the endpoint also serves a playground, in which the page's queries can be opened. */
  readonly hasPlayground: boolean;
  /** Files that the page links to. */
  readonly files: readonly FileLink[];
  /** Whether the page may load logos of tokens from other hosts, by HTTPS. */
  readonly hasLogos: boolean;
  /** Whether to label the data as demo data. */
  readonly isDemo: boolean;
}

/** The build copies these files beside the compiled code. */
const PAGE = new URL('./picker/', import.meta.url);

/** Where the build puts the README as a page. Tests, which run the sources, use this file, too. */
const GUIDE = new URL('../../dist/pages/picker/guide.html', import.meta.url);

/** The types of the files that are served beside the document, by their endings. */
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

const contentSecurityPolicy = (hasLogos: boolean) => [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  `img-src 'self'${hasLogos ? ' https:' : ''}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // The browser then refuses to turn text into markup, even if the page has a mistake.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** Makes the picker from the files in `picker/` and the guide, and fills the placeholders of its HTML. */
export function createPicker(options: PickerOptions): Page {
  const { endpoint, hasPlayground, hasLogos, files: linkedFiles, isDemo } = options;
  const links = [
    ...(hasPlayground ? [`<a href="${endpoint}">Playground</a>`] : []),
    ...linkedFiles.map(({ path, label }) => `<a href="${path}">${label}</a>`),
  ];
  const files = [...pageFiles(), guide(['<a href="../../">Token picker</a>', ...links].join(' '))];
  // One digest for all: scripts import each other by name, so a change of one must change every path.
  const base = `${options.base}${digestOf(files.map(({ content }) => content).join('\n'))}/`;
  // Without preloads the browser would fetch these modules only after `main.js`, which imports all of them.
  const preloads = files
    .filter(({ name }) => name.endsWith('.js') && name !== 'main.js')
    .map(({ name }) => `<link rel="modulepreload" href="./${name}">`);
  const html = read('index.html')
    .replace('{{links}}', [...links, '<a href="./guide.html">Guide</a>'].join(' '))
    .replace('{{preloads}}', preloads.join('\n    '))
    .replaceAll(/(?<=(?:href|src)=")\.\//g, base)
    .replace('{{demo}}', isDemo ? ' (demo data)' : '')
    .replace('{{demo label}}', isDemo ? pillOf(DEMO_LABEL) : '')
    .replaceAll('{{endpoint}}', endpoint)
    .replace('{{has playground}}', String(hasPlayground))
    .replace('{{logos}}', String(hasLogos));
  return {
    document: createDocument(html, contentSecurityPolicy(hasLogos)),
    assets: new Map(files.map(({ name, type, content }) => [base + name, createAsset(type, content)])),
  };
}

interface ServedFile {
  /** The path below the page's own. */
  readonly name: string;
  readonly type: string;
  readonly content: string;
}

function pageFiles(): readonly ServedFile[] {
  // Sorted, because the order decides the digest in the paths, and all gateways must serve the same paths.
  return readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
    .sort()
    .flatMap((name) => {
      const type = TYPES[extname(name)];
      if (!type) return [];
      const content = withoutComments(read(name));
      // Texts in scripts need their indents.
      return [{ name, type, content: name.endsWith('.css') ? content.replaceAll(/^ +/gm, '') : content }];
    });
}

/** Removes the comments that fill whole lines of a script or style, and the types within lines: they would be a quarter of the bytes. */
function withoutComments(text: string): string {
  return text
    .replaceAll(/^ *(\/\*((?!\*\/).)*\*\/|\/\/[^\n]*)\n/gms, '')
    .replaceAll(/\/\*\* @type [^*]+\*\/ /g, '');
}

/** @param links to other paths of the gateway, since the files in the repository that the guide names are not served */
function guide(links: string): ServedFile {
  const content = readFileSync(GUIDE, 'utf8').replace('{{links}}', links);
  return { name: 'guide.html', type: 'text/html', content };
}

/** The texts of the page's queries. */
export async function pickerDocuments(): Promise<readonly string[]> {
  return Object.values((await import(new URL('queries.js', PAGE).href)) as Readonly<Record<string, string>>);
}

function read(name: string): string {
  return readFileSync(new URL(name, PAGE), 'utf8');
}
