/** Serves the playground: GraphiQL with this gateway's examples and look. */
import { readFileSync } from 'node:fs';
import { DEMO_LABEL } from '../demo/listings.js';
import { createPage, type FileLink, type Page, type PageFile, readPageFiles } from './static-page.js';

export interface PlaygroundOptions {
  /** The path of the folder of its files. */
  readonly base: string;
  /** The path of the token picker; undefined if there is none. */
  readonly picker: string | undefined;
  /** Files that the page links to. */
  readonly files: readonly FileLink[];
  /** Whether to label the data as demo data. */
  readonly isDemo: boolean;
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** Where the build puts GraphiQL. Tests, which run the sources, use it too. */
const GRAPHIQL = new URL('../../dist/pages/graphiql/', import.meta.url);

/** The files of the picker that the playground uses, too. */
const OF_PICKER: readonly string[] = ['text.js', 'icon.svg'];

/**
 * Makes the playground from the files in `playground/` and those of GraphiQL, which have 9 MB.
 *
 * @throws Error if the files cannot be read now
 */
export function createPlayground({ base, picker, files, isDemo }: PlaygroundOptions): Page {
  const ofPicker = readPageFiles('picker').filter(({ name }) => OF_PICKER.includes(name));
  const links = files.map(({ label, path }) => `<a href="${path}">${label}</a>`).join('');
  return createPage({
    folder: 'playground',
    base,
    otherFiles: [...graphiqlFiles(), ...ofPicker],
    texts: {
      demo: isDemo ? ' (demo data)' : '',
      'demo label': isDemo ? `<p class="pill">${DEMO_LABEL}</p>` : '',
      links: `${picker ? `<a href="${picker}">Token picker</a>` : ''}${links}`,
    },
    contentSecurityPolicy: CONTENT_SECURITY_POLICY,
  });
}

/** The files of GraphiQL as bytes: to decode 9 MB would keep other requests waiting. */
function graphiqlFiles(): readonly PageFile[] {
  const file = (name: string, type: string): PageFile => ({
    name,
    type,
    content: readFileSync(new URL(name, GRAPHIQL)),
  });
  const scripts = ['graphiql.js', 'editor.worker.js', 'json.worker.js', 'graphql.worker.js'];
  return [...scripts.map((name) => file(name, 'text/javascript')), file('graphiql.css', 'text/css')];
}
