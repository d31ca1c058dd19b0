/** Serves the playground: GraphiQL. */
import { readFileSync } from 'node:fs';
import { DEMO_LABEL } from '../demo/listings.js';
import { TABS } from './playground-tabs.js';
import {
  createAsset,
  createDocument,
  digestOf,
  type FileLink,
  type Page,
  pillOf,
  type StaticFile,
} from './static-page.js';

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

/** Colours of GraphiQL's style sheet, and those that take their places: the accent, and the dark page of the picker. */
const COLOURS: [string, string][] = [
  ['320, 95%, 43%', '245, 61%, 53%'],
  ['338, 100%, 67%', '243, 100%, 82%'],
  ['219, 29%, 18%', '234, 28%, 7%'],
];

const STYLE = `
:root{color-scheme:light dark}
.graphiql-light{color-scheme:light}
.graphiql-dark{color-scheme:dark}
body{display:flex;flex-direction:column;height:100vh;height:100dvh;overflow:hidden}
#root{flex:1;min-height:0}
.graphiql-container{width:100%;height:100%}
#head{display:flex;flex-wrap:wrap;gap:0 12px;align-items:center;padding:8px 16px;background:light-dark(#efedfe,#1d1a3f);color:light-dark(#14171f,#eef1f6)}
#head,#loading,#answer-facts{font:14px/1.4 Roboto,sans-serif}
#head strong{font-size:17px;font-weight:500}
#head nav{display:flex;gap:24px;margin-left:auto}
#head a,#answer-facts{color:light-dark(#5a6172,#a0a8c0)}
#head a{padding:4px 0;text-decoration:none}
#head a:hover{text-decoration:underline}
#head .pill{margin:0;padding:2px 8px;border-radius:99px;background:light-dark(#fff3e0,#33250f);color:light-dark(#8a4b00,#f2b35b);font-size:12px}
#loading{padding:24px 16px}
.graphiql-response{display:flex;flex-direction:column}
#answer-facts{flex:none;margin:0;padding:6px 16px;font-size:13px}
/* GraphiQL moves a tab by a stale offset once the pointer is down on it, and the click then misses it. */
.graphiql-container .graphiql-tab{transform:none!important}
.graphiql-container .graphiql-execute-button{background-color:#5b50e0}
/* At least three lines of variables. */
.graphiql-container .graphiql-editor-tool{min-height:110px}
.graphiql-sessions{container-type:inline-size}
/* The page's header has the title. GraphiQL's own title is hidden, because tabs would clip it. */
.graphiql-container .graphiql-logo{display:none}
/* Hides the fields for federation, which people do not query. */
.graphiql-explorer-root [class*="graphiql-explorer-_"]{display:none}
@media (max-width:819px){
#head .pill span{font-size:0}
}
/* The buttons of the left side are above the editors. */
@media (max-width:600px){
#head{padding-bottom:0}
#head nav{flex-basis:100%}
.graphiql-container{flex-direction:column}
.graphiql-container .graphiql-sidebar{flex:none;flex-direction:row;gap:0;width:auto;padding:0 8px}
.graphiql-sidebar>:nth-child(4){margin-left:auto}
.graphiql-container .graphiql-main{min-height:0}
.graphiql-container .graphiql-sessions{margin:0 8px 8px}
}
@container (max-width:600px){
.graphiql-container #graphiql-session{flex-direction:column;min-height:0;overflow-y:auto}
#graphiql-session>.graphiql-horizontal-drag-bar{display:none}
.graphiql-container .graphiql-editors,.graphiql-container .graphiql-response{flex:1 0 0!important;min-height:280px}
.graphiql-container .graphiql-editors{min-height:344px}
.graphiql-container .graphiql-editor-tools{padding-block:0}
.graphiql-container .graphiql-editor-tool{min-height:78px;padding-block:8px}
/* The buttons are above the query, so that its lines have the whole width. */
.graphiql-container .graphiql-query-editor{flex-direction:column;gap:8px;padding:8px}
.graphiql-container .graphiql-query-editor>.graphiql-toolbar{flex-direction:row;order:-1;width:auto}
}
/* In a low window both editors scroll together, beside the answer. */
@media (min-width:601px) and (max-height:519px){
#head{padding-block:0}
.graphiql-container .graphiql-sessions{margin:8px 8px 8px 0}
.graphiql-container #graphiql-session{min-height:0}
.graphiql-editors{overflow-y:auto}
.graphiql-container .graphiql-query-editor{column-gap:8px;padding:8px}
}
@media (pointer:coarse){
#head a{padding:12px 0}
}
/* The white sign of the button that runs the query needs its ground; the open tab has no other mark. */
@media (forced-colors:active){
.graphiql-container .graphiql-execute-button{forced-color-adjust:none}
.graphiql-container .graphiql-tab-active{outline:1px solid Highlight}
}
`;

/** Where the build puts GraphiQL. Tests, which run the sources, use it too. */
const GRAPHIQL = new URL('../../dist/pages/graphiql/', import.meta.url);

/** The functions of the picker that format texts. */
const PICKER_TEXT = new URL('./picker/text.js', import.meta.url);

const PICKER_ICON = new URL('./picker/icon.svg', import.meta.url);

/** Reads a file of GraphiQL at its first use: all files have 9 MB, and most processes never need them. */
function graphiql(name: string): string {
  return readFileSync(new URL(name, GRAPHIQL), 'utf8');
}

export interface PlaygroundOptions {
  /** The page's path, with its files below it. */
  readonly path: string;
  /** The path of the token picker; undefined if there is none. */
  readonly picker: string | undefined;
  /** Files that the page links to. */
  readonly files: readonly FileLink[];
  /** Whether to label the data as demo data. */
  readonly isDemo: boolean;
}

/**
 * Makes the playground: GraphiQL, served from this gateway.
 *
 * @throws Error if its files cannot be read now
 */
export function createPlayground({ path, picker, files, isDemo }: PlaygroundOptions): Page {
  const assets = new Map<string, StaticFile>();
  const add = (name: string, type: string, content: string) => {
    const address = `${path}/playground/${digestOf(content)}/${name}`;
    assets.set(address, createAsset(type, content));
    return address;
  };
  const title = `Chains and tokens${isDemo ? ' (demo data)' : ''}`;
  const script = add(
    'graphiql.js',
    'text/javascript',
    withEditorOptions(withHistory(graphiql('graphiql.js'))),
  );
  const colours = (css: string) => COLOURS.reduce((text, [from, to]) => text.replaceAll(from, to), css);
  const style = add('graphiql.css', 'text/css', colours(graphiql('graphiql.css')) + STYLE);
  const icon = add('icon.svg', 'image/svg+xml', readFileSync(PICKER_ICON, 'utf8'));
  const workers = {
    editorWorkerService: add('editor.worker.js', 'text/javascript', graphiql('editor.worker.js')),
    json: add('json.worker.js', 'text/javascript', graphiql('json.worker.js')),
    graphql: add('graphql.worker.js', 'text/javascript', graphiql('graphql.worker.js')),
  };
  const text = add('text.js', 'text/javascript', readFileSync(PICKER_TEXT, 'utf8'));
  const options = { title, defaultTabs: TABS, shouldPersistHeaders: false };
  const start = add('start.js', 'text/javascript', startScript(text, options, workers));
  const links = files.map(({ label, path }) => `<a href="${path}">${label}</a>`).join('');
  const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="icon" href="${icon}">
    <link rel="stylesheet" href="${style}">
  </head>
  <body class="no-focus-outline">
    <noscript>The playground needs JavaScript. Without it, send queries by POST to this address.</noscript>
    <header id="head">
      <img src="${icon}" alt="" width="28" height="28">
      <strong>Chains and tokens</strong>
      ${isDemo ? pillOf(DEMO_LABEL) : ''}
      <nav aria-label="More">${picker ? `<a href="${picker}">Token picker</a>` : ''}${links}</nav>
    </header>
    <div id="root"><p id="loading">Loading the playground…</p></div>
    <script src="${script}"></script>
    <script type="module" src="${start}"></script>
  </body>
</html>
`;
  return { document: createDocument(html, CONTENT_SECURITY_POLICY), assets };
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

/**
 * Makes the script that starts GraphiQL. It reads the query and its variables from the page's address, so
 * that a link can open them in a new tab. Every edit updates the address; otherwise a reload would combine
 * old variables with another query.
 */
function startScript(text: string, options: object, workerPaths: Readonly<Record<string, string>>): string {
  return `import { factsOf } from '${text}';
self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => (${JSON.stringify(workerPaths)})[label] };
const options = ${JSON.stringify(options)};
const { searchParams } = new URL(location.href);
const query = searchParams.get('query');
// GraphiQL ignores the variables of the first tab. A browser that has opened it before has tabs of its own.
let isFirstVisit = true;
try {
  isFirstVisit = localStorage.getItem('graphiql:tabState') === null;
} catch {
  // The browser forbids storage.
}
const variables = searchParams.get('variables') ?? (isFirstVisit && !query ? options.defaultTabs[0].variables : undefined);
if (query) options.defaultTabs = [{ query, variables }, ...options.defaultTabs.filter((tab) => tab.query !== query)];
const keepInAddress = (name) => (value) => {
  const address = new URL(location.href);
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
  history.replaceState(null, '', address);
};
// Shown below each answer: its time, size and cost, and whether it was cached.
const facts = document.createElement('p');
facts.id = 'answer-facts';
const send = self.fetch;
self.fetch = async (...request) => {
  const began = performance.now();
  const response = await send(...request);
  if (String(request[1]?.body).includes('IntrospectionQuery')) return response;
  const text = await response.clone().text();
  const cost = response.headers.get('x-cost');
  facts.textContent = [
    ...factsOf(performance.now() - began, text),
    ...(cost ? ['cost ' + cost] : []),
    response.headers.get('cache-status') ?? '',
  ].join(' · ');
  document.querySelector('.graphiql-response')?.append(facts);
  return response;
};
// Runs the query of the first visit, or of a link, as soon as its editor is loaded.
if (isFirstVisit || query) new MutationObserver((_changes, observer) => {
  if (!document.querySelector('.graphiql-query-editor .view-line')) return;
  observer.disconnect();
  document.querySelector('.graphiql-execute-button')?.click();
}).observe(document.querySelector('#root'), { childList: true, subtree: true });
YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), {
  ...options,
  variables,
  onEditQuery: keepInAddress('query'),
  onEditVariables: keepInAddress('variables'),
});
`;
}
