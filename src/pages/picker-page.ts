/** Serves the token picker. */
import { readFileSync } from 'node:fs';
import { DEMO_LABEL } from '../demo/listings.js';
import { createPage, type FileLink, type Page, type PageFile } from './static-page.js';

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

/** Where the build puts the README as a page. Tests, which run the sources, use this file, too. */
const GUIDE = new URL('../../dist/pages/picker/guide.html', import.meta.url);

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

/** Makes the picker from the files in `picker/` and the guide. */
export function createPicker(options: PickerOptions): Page {
  const { endpoint, base, hasPlayground, hasLogos, files: linkedFiles, isDemo } = options;
  const links = [
    ...(hasPlayground ? [`<a href="${endpoint}">Playground</a>`] : []),
    ...linkedFiles.map(({ path, label }) => `<a href="${path}">${label}</a>`),
  ];
  return createPage({
    folder: 'picker',
    base,
    otherFiles: [guide(['<a href="../../">Token picker</a>', ...links].join(' '))],
    texts: {
      endpoint,
      demo: isDemo ? ' (demo data)' : '',
      'demo label': isDemo ? `<p class="pill">${DEMO_LABEL}</p>` : '',
      'has playground': String(hasPlayground),
      links: [...links, '<a href="./guide.html">Guide</a>'].join(' '),
      logos: String(hasLogos),
    },
    contentSecurityPolicy: contentSecurityPolicy(hasLogos),
  });
}

/** @param links to paths of the gateway. The guide names files of the repository, which the gateway does not serve */
function guide(links: string): PageFile {
  const content = readFileSync(GUIDE, 'utf8').replace('{{links}}', links);
  return { name: 'guide.html', type: 'text/html', content };
}
