import { readFileSync } from 'node:fs';
import { createAsset, createDocument, DEMO_LABEL, digestOf, type Page } from '../static-page.js';

export interface PickerOptions {
  /** The path to which the page sends its queries. */
  readonly endpoint: string;
  /** Whether the endpoint also serves a playground, in which the page's queries can be opened. */
  readonly hasPlayground: boolean;
  /** Whether to show the banner of demo data. */
  readonly isDemo: boolean;
}

/** The files of the page beside its document, with their types. */
const ASSETS = {
  'style.css': 'text/css',
  'finder.css': 'text/css',
  'details.css': 'text/css',
  'icon.svg': 'image/svg+xml',
  'main.js': 'text/javascript',
  'queries.js': 'text/javascript',
  'graph.js': 'text/javascript',
  'query-panel.js': 'text/javascript',
  'chain-filter.js': 'text/javascript',
  'token-list.js': 'text/javascript',
  'token-row.js': 'text/javascript',
  'list-keys.js': 'text/javascript',
  'chosen-token.js': 'text/javascript',
  'listings.js': 'text/javascript',
  'clock.js': 'text/javascript',
  'text.js': 'text/javascript',
  'dom.js': 'text/javascript',
} as const;

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // So no mistake in the page can turn text from a listing into markup.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** Makes the picker from the files in `page`. Only the document is changed: its placeholders are filled in. */
export function createPicker({ endpoint, hasPlayground, isDemo }: PickerOptions): Page {
  const files = Object.entries(ASSETS).map(([name, type]) => ({ name, type, content: read(name) }));
  // One digest for all: scripts import each other by name, so a change of one must change every path.
  const base = `/picker/${digestOf(files.map(({ content }) => content).join('\n'))}/`;
  const html = read('index.html')
    .replaceAll(/(?<=(?:href|src)=")\.\//g, base)
    .replace('{{demo}}', isDemo ? ' (demo data)' : '')
    .replace('{{demo label}}', isDemo ? `<p class="demo">${DEMO_LABEL}</p>` : '')
    .replace('{{endpoint}}', endpoint)
    .replace('{{has playground}}', String(hasPlayground));
  return {
    document: createDocument(html, CONTENT_SECURITY_POLICY),
    assets: new Map(files.map(({ name, type, content }) => [base + name, createAsset(type, content)])),
  };
}

/** The page's files are not copied to dist, so the compiled code also reads them from src. */
function read(name: string): string {
  return readFileSync(new URL(`../../../src/pages/picker/page/${name}`, import.meta.url), 'utf8');
}
