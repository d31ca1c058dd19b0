import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import * as graphiql from '@graphql-yoga/render-graphiql/graphiql';
import { TABS } from './tabs.js';

/** What {@link createPlayground} takes. */
export interface PlaygroundOptions {
  /** Whether what it shows is to be labelled as demo data. */
  readonly isDemo: boolean;
}

/** A body with the headers that go with it. */
export interface PlaygroundFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>> & { readonly etag: string };
}

/** GraphiQL as files of our own: a small page, and assets which change their address when they change. */
export interface Playground {
  /** @param encodings the request's Accept-Encoding */
  page(encodings: string): Promise<PlaygroundFile>;
  /** Undefined where there is no such file. @param encodings the request's Accept-Encoding */
  asset(pathname: string, encodings: string): Promise<PlaygroundFile | undefined>;
}

type Encoding = 'br' | 'gzip' | 'identity';

const compressors: Readonly<Record<Encoding, (body: Buffer) => Promise<Buffer>>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: promisify<Buffer, Buffer>(gzip),
  identity: async (body) => body,
};

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
].join('; ');

const FAVICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" fill="none" stroke="#d64292" stroke-width="3"><rect x="2" y="9" width="16" height="14" rx="7"/><rect x="14" y="9" width="16" height="14" rx="7"/></svg>';

const DEMO_LABEL =
  'Demo data: prices and some flags are made up. For a real listing set UPSTREAM_URL and start again.';

const STYLE = `
body{display:flex;flex-direction:column;height:100vh;height:100dvh;overflow:hidden}
#root{flex:1;min-height:0}
.graphiql-container{width:100%;height:100%}
#demo-data{margin:0;padding:6px 16px;background:#7a4b00;color:#fff;font:14px/1.4 system-ui,sans-serif;text-align:center}
/* GraphiQL moves a tab by a stale offset once the pointer is down on it, and the click then misses it. */
.graphiql-container .graphiql-tab{transform:none!important}
.graphiql-sessions{container-type:inline-size}
@container (max-width:1000px){.graphiql-container .graphiql-logo{display:none}}
@container (max-width:600px){
.graphiql-container #graphiql-session{flex-direction:column;min-height:0}
#graphiql-session>.graphiql-horizontal-drag-bar{display:none}
.graphiql-container .graphiql-editors,.graphiql-container .graphiql-response{flex:1 1 0!important;min-height:0}
}
`;

/** Makes the playground; its files are compressed when they are first asked for, off the event loop. */
export function createPlayground({ isDemo }: PlaygroundOptions): Playground {
  const script = asset('graphiql.js', 'text/javascript', graphiql.js);
  const style = asset('graphiql.css', 'text/css', graphiql.css + STYLE);
  const icon = asset('favicon.svg', 'image/svg+xml', FAVICON);
  const workers = {
    editorWorkerService: asset('editor.worker.js', 'text/javascript', graphiql.editorWorkerService),
    json: asset('json.worker.js', 'text/javascript', graphiql.jsonWorker),
    graphql: asset('graphql.worker.js', 'text/javascript', graphiql.graphqlWorker),
  };
  const title = `Chains and tokens${isDemo ? ' (demo data)' : ''}`;
  const start = asset(
    'start.js',
    'text/javascript',
    startScript(
      { title, defaultTabs: TABS, shouldPersistHeaders: false },
      Object.fromEntries(Object.entries(workers).map(([label, worker]) => [label, worker.path])),
    ),
  );
  const assets = new Map(
    [script, style, icon, start, ...Object.values(workers)].map((file) => [file.path, file]),
  );
  const page = createFile(
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="icon" href="${icon.path}">
    <link rel="stylesheet" href="${style.path}">
  </head>
  <body class="no-focus-outline">
    <noscript>The playground needs JavaScript. Without it, send queries by POST to this address.</noscript>
    ${isDemo ? `<p id="demo-data">${DEMO_LABEL}</p>` : ''}
    <div id="root"></div>
    <script src="${script.path}"></script>
    <script src="${start.path}"></script>
  </body>
</html>
`,
    {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      // The same address answers queries by GET.
      vary: 'Accept, Accept-Encoding',
      'x-content-type-options': 'nosniff',
    },
  );
  return {
    page,
    async asset(pathname, encodings) {
      return assets.get(pathname)?.file(encodings);
    },
  };
}

function startScript(options: object, workerPaths: Readonly<Record<string, string>>): string {
  return `self.MonacoEnvironment = { globalAPI: false, getWorkerUrl: (_module, label) => (${JSON.stringify(workerPaths)})[label] };
YogaGraphiQL.renderYogaGraphiQL(document.querySelector('#root'), ${JSON.stringify(options)});
`;
}

function asset(name: string, type: string, content: string) {
  const path = `/playground/${digestOf(content)}/${name}`;
  const file = createFile(content, {
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'public, max-age=31536000, immutable',
    vary: 'Accept-Encoding',
    'x-content-type-options': 'nosniff',
  });
  return { path, file };
}

/** A file in each encoding, made when it is first asked for and kept. */
function createFile(content: string, headers: Readonly<Record<string, string>>) {
  const etag = `"${digestOf(content)}"`;
  const kept = new Map<Encoding, Promise<Uint8Array<ArrayBuffer>>>();
  return async (encodings: string): Promise<PlaygroundFile> => {
    const encoding = bestOf(encodings);
    const making =
      kept.get(encoding) ?? compressors[encoding](Buffer.from(content)).then((body) => new Uint8Array(body));
    kept.set(encoding, making);
    return {
      body: await making,
      headers: {
        ...headers,
        etag: encoding === 'identity' ? etag : etag.replace(/"$/, `-${encoding}"`),
        ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
      },
    };
  };
}

function bestOf(encodings: string): Encoding {
  const accepted = new Set(
    encodings
      .toLowerCase()
      .split(',')
      .filter((encoding) => !/;\s*q=0(\.0*)?\s*$/.test(encoding))
      .map((encoding) => encoding.split(';')[0]?.trim()),
  );
  if (accepted.has('br')) return 'br';
  return accepted.has('gzip') ? 'gzip' : 'identity';
}

function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 16);
}
