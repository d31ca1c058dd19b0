import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname } from 'node:path';
import {
  createAsset,
  createDocument,
  DEMO_LABEL,
  digestOf,
  type FileLink,
  type Page,
} from '../static-page.js';

export interface PickerOptions {
  /** The path to which the page sends its queries. */
  readonly endpoint: string;
  /** Whether the endpoint also serves a playground, in which the page's queries can be opened. */
  readonly hasPlayground: boolean;
  /** Files that the page links to. */
  readonly files: readonly FileLink[];
  /** Whether the page may load logos of tokens from other hosts, by HTTPS. */
  readonly hasLogos: boolean;
  /** Whether to show the banner of demo data. */
  readonly isDemo: boolean;
}

/** The build copies these files beside the compiled code. */
const PAGE = new URL('./page/', import.meta.url);

/** The documentation that the package brings along. */
const README = new URL('../../../README.md', import.meta.url);

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
  // So no mistake in the page can turn text from a listing into markup.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** Makes the picker from the files in `page`. Only the document is changed: its placeholders are filled in. */
export function createPicker(options: PickerOptions): Page {
  const { endpoint, hasPlayground, hasLogos, files: linkedFiles, isDemo } = options;
  const files = [...pageFiles(), ...readme()];
  // One digest for all: scripts import each other by name, so a change of one must change every path.
  const base = `/picker/${digestOf(files.map(({ content }) => content).join('\n'))}/`;
  const links = [
    ...(hasPlayground ? [`<a href="${endpoint}">Playground</a>`] : []),
    ...linkedFiles.map(({ path, label }) => `<a href="${path}">${label}</a>`),
    ...readme().map(({ name }) => `<a href="./${name}">README</a>`),
  ];
  const html = read('index.html')
    .replace('{{links}}', links.join(' '))
    .replaceAll(/(?<=(?:href|src)=")\.\//g, base)
    .replace('{{demo}}', isDemo ? ' (demo data)' : '')
    .replace('{{demo label}}', isDemo ? `<p class="demo">${DEMO_LABEL}</p>` : '')
    .replace('{{endpoint}}', endpoint)
    .replace('{{has playground}}', String(hasPlayground))
    .replace('{{logos}}', String(hasLogos));
  return {
    document: createDocument(html, contentSecurityPolicy(hasLogos)),
    assets: new Map(files.map(({ name, type, content }) => [base + name, createAsset(type, content)])),
  };
}

interface ServedFile {
  /** Path below the page's own. */
  readonly name: string;
  readonly type: string;
  readonly content: string;
}

function pageFiles(): readonly ServedFile[] {
  // Sorted: all gateways must make the same digest of them.
  return readdirSync(PAGE, { recursive: true, encoding: 'utf8' })
    .sort()
    .flatMap((name) => {
      const type = TYPES[extname(name)];
      return type ? [{ name, type, content: read(name) }] : [];
    });
}

/** The README as plain text, since its pictures and links lead to files that are not served; none if it was left out. */
function readme(): readonly ServedFile[] {
  if (!existsSync(README)) return [];
  return [{ name: 'README.md', type: 'text/plain', content: readFileSync(README, 'utf8') }];
}

/** The texts of the page's queries. */
export function pickerDocuments(): readonly string[] {
  return [...read('queries.js').matchAll(/^ {2}text: `([^`]*)`/gm)].map(([, text = '']) => text);
}

function read(name: string): string {
  return readFileSync(new URL(name, PAGE), 'utf8');
}
