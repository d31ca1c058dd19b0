/** Tests of the code's structure: allowed imports and packages, and cycles of modules. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/**
 * The modules that each module may import. A module is a folder of src with its subfolders, or a single file. A subfolder
 * that the table names is a module of its own. Imports of types count, too.
 */
const ALLOWED_IMPORTS = table(`
  # Modules that import few others.
  domain:
  http: domain
  config: domain http logger
  scheduling:
  tracing:
  logger: tracing
  observability: config domain http logger snapshots
  # Modules through which data passes, from the upstream to the port.
  upstream: config logger scheduling domain tracing
  search: domain scheduling
  snapshots: config logger scheduling domain tracing search upstream/listing-kinds
  storage: logger scheduling domain tracing upstream/listing-kinds upstream/http/rate-limit snapshots/stores
  graph: config domain logger search snapshots
  graph/schema: domain graph search snapshots
  graph/federation: domain graph graph/schema
  execution: config domain
  plugins: domain execution graph logger
  mcp: config domain execution http logger observability/version
  token-list: domain graph/dependencies http pages/static-page scheduling snapshots
  pages/static-page: http
  pages/llms-text: demo domain/listing pages/pages
  pages/page-documents: pages/llms-text
  pages/pages: demo pages/static-page
  pages/picker:
  pages/playground:
  server: config domain execution gateway graph/dependencies http logger observability scheduling tracing yoga
  demo: domain
  # Modules that put others together.
  gateway: domain execution graph graph/schema graph/federation http path-answers scheduling
  gateway: tracing yoga
  yoga: config domain execution graph http logger plugins
  path-answers: config execution graph/schema http logger mcp observability snapshots token-list yoga
  path-answers: pages/llms-text pages/pages pages/static-page
  assemble: config demo domain gateway graph/dependencies logger observability pages/page-documents
  assemble: scheduling snapshots storage upstream
  # A gateway inside another server uses all parts except those of the process and its port.
  library: assemble config demo http logger observability server
  start: assemble config demo http logger observability server
  command-line: config observability/version
  packaging: config domain graph/federation graph/schema observability/metric-table
  main: command-line start
`);

/** Packages, and modules of Node that reach outside the process, each with the only files and folders that may use it. */
const PACKAGES = table(`
  undici: upstream/http
  ioredis: storage
  prom-client: observability
  @opentelemetry/api: tracing
  proxy-addr: config/values http/client-address
  ipaddr.js: http/client-address
  @modelcontextprotocol/server: mcp
  graphql: execution gateway graph mcp path-answers plugins yoga server/response-cache
  @pothos/core: graph/schema
  graphql-yoga: plugins yoga
  dataloader: graph
  http: http library server
  net: config/values http/client-address library/requests logger server
  fs/promises: storage/disk storage/rules-file
  fs: config/files demo logger mcp/mcp-handler pages
  # These are scripts, not parts of the gateway.
  fs: packaging
`);

/** Reads lines of the form `name: place place …`. Lines with the same name are joined. */
function table(text: string): Readonly<Record<string, readonly string[]>> {
  const places: Record<string, string[]> = {};
  for (const [, name = '', rest = ''] of text.matchAll(/^ *([^\s#]+):(.*)$/gm))
    places[name] = [...(places[name] ?? []), ...rest.split(' ').filter(Boolean)];
  return places;
}

type SourceFile = { readonly name: string; readonly text: string; readonly imports: readonly string[] };

const files: readonly SourceFile[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => /\.[jt]s$/.test(path))
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8');
    const specifiers = [...text.matchAll(/(?<!['"])\b(?:from|import\(?)\s*['"]([^'"]+)['"]/g)].map(
      (match) => match[1] ?? '',
    );
    return {
      name: path.replace(/\.[jt]s$/, ''),
      text,
      imports: specifiers.map((specifier) =>
        specifier.startsWith('.')
          ? relative(SRC, join(SRC, dirname(path), specifier)).replace(/\.js$/, '')
          : specifier.replace(/^node:/, ''),
      ),
    };
  });

const isOurs = (name: string) => files.some((file) => file.name === name);
const isIn = (name: string, place: string) => name === place || name.startsWith(`${place}/`);
const filesWith = (pattern: RegExp) => files.filter(({ text }) => pattern.test(text)).map(({ name }) => name);
const strays = (isRefused: (name: string, path: string) => boolean) =>
  files.flatMap(({ name, imports }) =>
    imports.filter((path) => isOurs(path) && isRefused(name, path)).map((path) => `${name} → ${path}`),
  );

/** The module of a file: the longest name in the table that is the file or a folder above it. */
function moduleOf(name: string): string | undefined {
  return Object.keys(ALLOWED_IMPORTS)
    .filter((module) => isIn(name, module))
    .sort((a, b) => b.length - a.length)[0];
}

/** Whether a file is in one of these places. A folder does not include those of its subfolders that `ALLOWED_IMPORTS` names. */
function isAllowed(name: string, places: readonly string[]): boolean {
  const module = moduleOf(name);
  return places.some((place) => isIn(name, place) && (module === undefined || place.length >= module.length));
}

it('the imports of all source files are found', () => {
  expect(files.length).toBeGreaterThan(100);
  const imports = new Set(files.flatMap((file) => file.imports));
  expect([...imports]).toContain('domain/listing');
  expect(files.find(({ name }) => name === 'path-answers')?.imports).toContain('pages/pages');
});

it('every file has a rule, and no rule names a missing file', () => {
  expect(files.filter(({ name }) => moduleOf(name) === undefined).map(({ name }) => name)).toEqual([]);
  const places = [
    ...Object.keys(ALLOWED_IMPORTS),
    ...Object.values(ALLOWED_IMPORTS).flat(),
    ...Object.values(PACKAGES).flat(),
  ];
  expect(places.filter((place) => !files.some(({ name }) => isIn(name, place)))).toEqual([]);
});

it.each(Object.entries(ALLOWED_IMPORTS))('%s imports only allowed modules', (module, allowed) => {
  expect(
    strays(
      (name, path) => moduleOf(name) === module && moduleOf(path) !== module && !isAllowed(path, allowed),
    ),
    `Move the code, or add the module to "${module}" in ALLOWED_IMPORTS and say why.`,
  ).toEqual([]);
});

it.each(Object.entries(PACKAGES))('%s is imported only in the allowed places', (imported, places) => {
  const users = files.filter(({ imports }) => imports.includes(imported)).map(({ name }) => name);
  expect(users.length).toBeGreaterThan(0);
  expect(users.filter((name) => !places.some((place) => isIn(name, place)))).toEqual([]);
});

it('plugins do not import each other', () => {
  expect(strays((name, path) => isIn(name, 'plugins') && isIn(path, 'plugins'))).toEqual([]);
});

it('only main, start and the build use process and console', () => {
  expect(
    filesWith(/\b(process|console)(\s*\.\w|\[)|(from |import |\()['"](node:)?(process|console)['"]/),
  ).toEqual(['main', 'start', 'packaging/build']);
});

it('resolvers read the clock and the snapshots through the context, which tracks dependencies', () => {
  const reading = filesWith(
    /Date\.now|new Date\(\)|performance\.|Math\.random|^import (?!type ).*'(\.\.\/)+snapshots\//m,
  );
  expect(reading.filter((name) => /^graph\/(schema|federation)\//.test(name))).toEqual([]);
});

it('the page of the picker never turns text into markup', () => {
  expect(filesWith(/innerHTML|outerHTML|insertAdjacent|document\.write/)).toEqual([]);
});

it('modules do not import each other in cycles', () => {
  const edges = files.flatMap(({ name, imports }) =>
    imports.filter(isOurs).map((path) => ({ from: moduleOf(name), to: moduleOf(path) })),
  );
  // In a cycle, each module imports another and is imported. Remove the edges of all others, until none is left.
  let left = edges.filter(({ from, to }) => from !== to);
  for (let before = 0; before !== left.length; ) {
    before = left.length;
    left = left.filter(
      ({ from, to }) => left.some((other) => other.from === to) && left.some((other) => other.to === from),
    );
  }
  expect(new Set(left.map(({ from, to }) => `${from} → ${to}`))).toEqual(new Set());
});

it('the package of the protocol for agents is imported only as types, so that only a message loads it', () => {
  const isLoading = /^(?!.*(import type|typeof import|require\.resolve)).*@modelcontextprotocol/m;
  expect(filesWith(isLoading)).toEqual([]);
});

it('the code never runs text as code', () => {
  expect(filesWith(/\bFunction\(|(?<![.\w])eval\(|['"](?:node:)?vm['"]/)).toEqual([]);
});
