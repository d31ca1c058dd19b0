/** Serves the playground: GraphiQL with this gateway's examples and look. */
import { readFileSync } from 'node:fs';
import { DEMO_LABEL } from '../demo/listings.js';
import { createPage, type FileLink, type Page, type PageFile, pillOf, readPageFiles } from './static-page.js';

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
      'demo label': isDemo ? pillOf(DEMO_LABEL) : '',
      links: `${picker ? `<a href="${picker}">Token picker</a>` : ''}${links}`,
    },
    contentSecurityPolicy: CONTENT_SECURITY_POLICY,
  });
}

function graphiqlFiles(): readonly PageFile[] {
  const read = (name: string) => readFileSync(new URL(name, GRAPHIQL), 'utf8');
  const script = (name: string, change = (text: string) => text) =>
    ({ name, type: 'text/javascript', content: change(read(name)) }) satisfies PageFile;
  return [
    script('graphiql.js', (text) => withEditorOptions(withHistory(text))),
    ...['editor.worker.js', 'json.worker.js', 'graphql.worker.js'].map((name) => script(name)),
    { name: 'graphiql.css', type: 'text/css', content: withColours(read('graphiql.css')) },
  ];
}

/** Gives GraphiQL's style sheet colours of the picker: the accent, and the background of the dark theme. */
function withColours(css: string): string {
  return css
    .replaceAll('320, 95%, 43%', '245, 61%, 53%')
    .replaceAll('338, 100%, 67%', '243, 100%, 82%')
    .replaceAll('219, 29%, 18%', '234, 28%, 7%');
}

/**
 * Adds GraphiQL's history panel. The package contains it but shows only its explorer, and has no option to show both. A
 * script of another form is returned unchanged.
 */
function withHistory(script: string): string {
  const name = /\b([\w$]+)=\{title:"History",icon:/.exec(script)?.[1];
  if (!name) return script;
  return script.replace(
    /\bplugins:\[([\w$]+)\](?=,schemaDescription:)/,
    (_, explorer) => `plugins:[${explorer},${name}]`,
  );
}

/**
 * Wraps long lines in all editors, and shows each character as it is: ligatures would make 0× of the beginning of an
 * address. On phones the letters are smaller, and there are no line numbers and no signs to fold lines. GraphiQL has no
 * options for these.
 */
function withEditorOptions(script: string): string {
  const forPhones = '...(Math.min(innerWidth,innerHeight)<600&&{fontSize:13,lineNumbers:"off",folding:!1})';
  return script.replace(
    /(fontSize:15,)(minimap:[^()]+fontLigatures:)!0/,
    (_, size, others) => `${size}${forPhones},wordWrap:"on",${others}!1`,
  );
}
