/** The pages for browsers: the token picker, and the playground, which is GraphiQL with this gateway's examples and look. */
import { readFileSync } from 'node:fs';
import { DEMO_LABEL } from '../demo/listings.js';
import { createPage, type Page, readPageFiles } from './static-page.js';

/** The facts that the pages and `/llms.txt` show, and the paths of their links. A path is undefined if it is not served. */
export interface PageFacts {
  /** To which the pages send their queries. For browsers, it is the path of the playground. */
  readonly endpoint: string;
  readonly hasPlayground: boolean;
  /** Whether the playground may read the schema. */
  readonly hasIntrospection: boolean;
  readonly mcp: string | undefined;
  readonly picker: string | undefined;
  readonly schema: string | undefined;
  readonly llms: string | undefined;
  readonly readiness: string | undefined;
  /** The paths of the folders of assets, such as `/picker/`. */
  readonly pickerBase: string;
  readonly playgroundBase: string;
  /** Whether the picker may load logos of tokens from other hosts, by HTTPS. */
  readonly hasLogos: boolean;
  readonly isDemo: boolean;
}

/** Where the build puts the README as a page, and GraphiQL. Tests, which run the sources, use these files, too. */
const GUIDE = new URL('../../dist/pages/picker/guide.html', import.meta.url);
const GRAPHIQL = new URL('../../dist/pages/graphiql/', import.meta.url);
const GRAPHIQL_SCRIPTS = ['graphiql.js', 'editor.worker.js', 'json.worker.js', 'graphql.worker.js'];

/** What both pages allow the browser to load. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

const demoTexts = (isDemo: boolean) => ({
  demo: isDemo ? ' (demo data)' : '',
  'demo label': isDemo ? `<p class="pill">${DEMO_LABEL}</p>` : '',
});
const linkTo = (path: string | undefined, label: string) =>
  path === undefined ? [] : [`<a href="${path}">${label}</a>`];
const linksTo = ({ schema, llms }: PageFacts) => [...linkTo(schema, 'Schema'), ...linkTo(llms, 'llms.txt')];

export function createPicker(facts: PageFacts): Page {
  const { endpoint, hasPlayground, hasLogos } = facts;
  const links = [...linkTo(hasPlayground ? endpoint : undefined, 'Playground'), ...linksTo(facts)];
  // Only paths of the gateway: the guide names files of the repository, which the gateway does not serve.
  const ofGuide = [...linkTo('../../', 'Token picker'), ...links].join(' ');
  const guide = readFileSync(GUIDE, 'utf8').replace('{{links}}', ofGuide);
  return createPage({
    folder: 'picker',
    base: facts.pickerBase,
    otherFiles: [{ name: 'guide.html', content: guide }],
    texts: {
      ...demoTexts(facts.isDemo),
      endpoint,
      'has playground': String(hasPlayground),
      links: [...links, ...linkTo('./guide.html', 'Guide')].join(' '),
      logos: String(hasLogos),
    },
    contentSecurityPolicy: [
      ...CONTENT_SECURITY_POLICY,
      "style-src 'self'",
      `img-src 'self'${hasLogos ? ' https:' : ''}`,
      // The browser then refuses to turn text into markup, even if the page has a mistake.
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ],
  });
}

/** The files of the picker that the playground uses, too. */
const OF_PICKER: readonly string[] = ['text.js', 'icon.svg'];

/** @throws Error if the files cannot be read now */
export function createPlayground(facts: PageFacts): Page {
  const ofPicker = readPageFiles('picker').filter(({ name }) => OF_PICKER.includes(name));
  // As bytes: to decode the 9 MB of GraphiQL would keep other requests waiting.
  const ofGraphiql = [...GRAPHIQL_SCRIPTS, 'graphiql.css'].map((name) => ({
    name,
    content: readFileSync(new URL(name, GRAPHIQL)),
  }));
  const links = [...linkTo(facts.picker, 'Token picker'), ...linksTo(facts)];
  return createPage({
    folder: 'playground',
    base: facts.playgroundBase,
    otherFiles: [...ofGraphiql, ...ofPicker],
    texts: {
      ...demoTexts(facts.isDemo),
      introspection: String(facts.hasIntrospection),
      links: links.join(''),
    },
    contentSecurityPolicy: [
      ...CONTENT_SECURITY_POLICY,
      "style-src 'self' 'unsafe-inline'",
      "img-src 'self' data:",
      "font-src 'self' data:",
      "worker-src 'self'",
    ],
  });
}
