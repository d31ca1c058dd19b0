import { readFileSync } from 'node:fs';
import {
  createAsset,
  createDocument,
  DEMO_LABEL,
  digestOf,
  type Encoded,
  type FileLink,
  type Page,
} from '../static-page.js';
import { TABS } from './tabs.js';

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

const FAVICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="#d64292" stroke-width="3"><rect x="2" y="9" width="16" height="14" rx="7"/><rect x="14" y="9" width="16" height="14" rx="7"/></svg>';

const STYLE = `
body{display:flex;flex-direction:column;height:100vh;height:100dvh;overflow:hidden}
#root{flex:1;min-height:0}
.graphiql-container{width:100%;height:100%}
#head{display:flex;flex-wrap:wrap;gap:4px 16px;align-items:baseline;padding:8px 16px;background:#1d2433;color:#fff;font:14px/1.4 system-ui,sans-serif}
#head a{color:#c9c7ff}
#demo-data{margin:0;padding:6px 16px;background:#7a4b00;color:#fff;font:14px/1.4 system-ui,sans-serif;text-align:center}
/* GraphiQL moves a tab by a stale offset once the pointer is down on it, and the click then misses it. */
.graphiql-container .graphiql-tab{transform:none!important}
.graphiql-sessions{container-type:inline-size}
/* The title stands above, where tabs do not clip it. */
.graphiql-container .graphiql-logo{display:none}
/* What other graphs ask is no example for people. */
.graphiql-explorer-root [class*="graphiql-explorer-_"]{display:none}
@container (max-width:600px){
.graphiql-container #graphiql-session{flex-direction:column;min-height:0}
#graphiql-session>.graphiql-horizontal-drag-bar{display:none}
.graphiql-container .graphiql-editors,.graphiql-container .graphiql-response{flex:1 1 0!important;min-height:0}
}
`;

/** Where the build puts GraphiQL; also for the sources that tests run. */
const GRAPHIQL = new URL('../../../dist/pages/playground/graphiql/', import.meta.url);

/** A text of GraphiQL. Together they are 9 MB, which most processes never need. */
function graphiql(name: string): string {
  return readFileSync(new URL(name, GRAPHIQL), 'utf8');
}

/**
 * Makes the playground: GraphiQL, served from this gateway.
 *
 * @param path where it is served; its files are below
 * @param files files that the document names for machines
 * @param isDemo whether to show the banner of demo data
 * @throws Error if its files cannot be read now
 */
export function createPlayground(path: string, files: readonly FileLink[], isDemo: boolean): Page {
  const assets = new Map<string, Encoded>();
  const add = (name: string, type: string, content: string) => {
    const address = `${path}/playground/${digestOf(content)}/${name}`;
    assets.set(address, createAsset(type, content));
    return address;
  };
  const title = `Chains and tokens${isDemo ? ' (demo data)' : ''}`;
  const script = add('graphiql.js', 'text/javascript', withHistory(graphiql('graphiql.js')));
  const style = add('graphiql.css', 'text/css', graphiql('graphiql.css') + STYLE);
  const icon = add('favicon.svg', 'image/svg+xml', FAVICON);
  const workers = {
    editorWorkerService: add('editor.worker.js', 'text/javascript', graphiql('editor.worker.js')),
    json: add('json.worker.js', 'text/javascript', graphiql('json.worker.js')),
    graphql: add('graphql.worker.js', 'text/javascript', graphiql('graphql.worker.js')),
  };
  const options = { title, defaultTabs: TABS, shouldPersistHeaders: false };
  const start = add('start.js', 'text/javascript', startScript(options, workers));
  const links = files.map(
    (file) => `    <link rel="alternate" type="text/plain" title="${file.label}" href="${file.path}">`,
  );
  const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="icon" href="${icon}">
    <link rel="stylesheet" href="${style}">
${links.join('\n')}
  </head>
  <body class="no-focus-outline">
    <noscript>The playground needs JavaScript. Without it, send queries by POST to this address.</noscript>
    <header id="head"><strong>Chains and tokens</strong><a href="/">Token picker</a></header>
    ${isDemo ? `<p id="demo-data">${DEMO_LABEL}</p>` : ''}
    <div id="root"></div>
    <script src="${script}"></script>
    <script src="${start}"></script>
  </body>
</html>
`;
  return { document: createDocument(html, CONTENT_SECURITY_POLICY), assets };
}

/**
 * Adds the panel of the queries that were run before. The package contains it, but replaces it by its explorer without
 * an option for both; its text is left as it is if it has another form.
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
 * Reads the query and its variables from the page's address, so that a link can open both in a tab of their own.
 * Every edit updates the address; otherwise a reload would combine old variables with another query.
 */
function startScript(options: object, workerPaths: Readonly<Record<string, string>>): string {
  return `self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => (${JSON.stringify(workerPaths)})[label] };
const options = ${JSON.stringify(options)};
const { searchParams } = new URL(location.href);
const query = searchParams.get('query');
const variables = searchParams.get('variables') ?? undefined;
if (query) options.defaultTabs = [{ query, variables }, ...options.defaultTabs.filter((tab) => tab.query !== query)];
const keepInAddress = (name) => (value) => {
  const address = new URL(location.href);
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
  history.replaceState(null, '', address);
};
YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), {
  ...options,
  variables,
  onEditQuery: keepInAddress('query'),
  onEditVariables: keepInAddress('variables'),
});
`;
}
