import { readFileSync } from 'node:fs';
import { createAsset, createDocument, DEMO_LABEL, digestOf, type Page } from '../static-page.js';

/** What {@link createPicker} takes. */
export interface PickerOptions {
  /** Where the page asks its queries. */
  readonly endpoint: string;
  /** Whether browsers get a playground there, too, in which the page's queries can be opened. */
  readonly hasPlayground: boolean;
  /** Whether what it shows is to be labelled as demo data. */
  readonly isDemo: boolean;
}

/** The document names them as they stand beside it. */
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
  // Text from a listing can then become no markup, by no mistake.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/** Makes the picker: the files in `page`, as they are, of which the document is told what it needs to know. */
export function createPicker({ endpoint, hasPlayground, isDemo }: PickerOptions): Page {
  const files = Object.entries(ASSETS).map(([name, type]) => ({ name, type, content: read(name) }));
  // Scripts import each other by name, so that a change of one is to change the addresses of all.
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

/** The page's files stay beside this file's source, from where the compiled file reads them, too. */
function read(name: string): string {
  return readFileSync(new URL(`../../../src/pages/picker/page/${name}`, import.meta.url), 'utf8');
}
