import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

/** Small files that many rooms may use. */
const LEAVES = ['logger', 'scheduling', 'domain', 'tracing'];

/**
 * Which room may import which. A room is a folder of src with all below it, a folder of its own where one is
 * named here, or a single file; the longest name that fits counts. Types count like code.
 */
const WALLS: Readonly<Record<string, readonly string[]>> = {
  // The leaves.
  domain: [],
  http: ['domain/text-limits'],
  scheduling: [],
  'log-escapes': [],
  tracing: [],
  logger: ['log-escapes', 'tracing'],
  observability: ['domain', 'http', 'logger', 'snapshots'],
  'config-values': [],
  'config-documents': ['config-values'],
  config: ['config-documents', 'config-values', 'domain', 'logger', 'observability/request-log'],
  // The way of the data, from the upstream to the port.
  upstream: [...LEAVES],
  search: ['domain', 'scheduling'],
  snapshots: [...LEAVES, 'search', 'upstream/listing-kinds'],
  storage: [
    ...LEAVES,
    'upstream/listing-kinds',
    'upstream/http/rate-limit',
    'snapshots/disk-store',
    'snapshots/peers',
  ],
  graph: ['domain', 'logger', 'search', 'snapshots'],
  'graph/schema': ['domain', 'graph', 'search', 'snapshots'],
  'graph/federation': ['domain', 'graph', 'graph/schema'],
  execution: ['domain'],
  plugins: [
    'domain',
    'execution',
    'graph',
    'http',
    'logger',
    'mcp/mcp-handler',
    'observability',
    'pages/static-page',
  ],
  mcp: [],
  'token-list': ['domain', 'graph/dependencies', 'http', 'scheduling', 'snapshots'],
  'pages/static-page': ['http'],
  'pages/llms-text': [],
  'pages/page-documents': ['pages/picker', 'pages/playground'],
  'pages/picker': ['pages/static-page'],
  'pages/picker/page': [],
  'pages/playground': ['pages/static-page'],
  server: [
    'domain',
    'execution',
    'gateway',
    'graph/dependencies',
    'http',
    'logger',
    'observability',
    'scheduling',
    'tracing',
    'yoga',
  ],
  demo: ['domain'],
  // What puts the rooms together.
  gateway: [
    'domain',
    'execution',
    'graph',
    'graph/schema',
    'graph/federation',
    'http',
    'scheduling',
    'tracing',
    'yoga',
  ],
  yoga: [
    'execution',
    'graph',
    'graph/schema',
    'http',
    'logger',
    'mcp',
    'observability',
    'pages/llms-text',
    'pages/picker',
    'pages/playground',
    'pages/static-page',
    'plugins',
    'snapshots',
    'token-list',
  ],
  assemble: [
    'config',
    'gateway',
    'graph/dependencies',
    'logger',
    'observability',
    'open-snapshots',
    'pages/page-documents',
    'scheduling',
    'storage/redis/client-limit',
  ],
  'open-snapshots': ['demo', 'domain', 'logger', 'observability', 'snapshots', 'storage', 'upstream'],
  // A gateway inside another server: all parts without the process and its port.
  library: [
    'assemble',
    'config',
    'config-documents',
    'config-values',
    'demo',
    'http',
    'logger',
    'observability',
    'server',
  ],
  start: ['assemble', 'config', 'demo', 'http', 'logger', 'observability', 'server'],
  'command-line': ['config'],
  packaging: ['config', 'domain'],
  main: ['command-line', 'start'],
};

/** Packages, and what of Node reaches outside the process, with the only places that may use them. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  undici: ['upstream/http'],
  ioredis: ['storage'],
  'prom-client': ['observability'],
  '@opentelemetry/api': ['tracing'],
  'rate-limiter-flexible': ['scheduling', 'storage'],
  'proxy-addr': ['config-values', 'server/forwarded-client'],
  '@modelcontextprotocol/server': ['mcp'],
  graphql: ['execution', 'gateway', 'graph', 'mcp', 'plugins', 'yoga', 'server/responses/response-cache'],
  '@pothos/core': ['graph/schema'],
  'graphql-yoga': ['plugins', 'yoga'],
  dataloader: ['graph'],
  http: ['demo', 'http', 'library', 'server'],
  net: ['config-values', 'demo', 'library/fetch-exchange', 'logger', 'server', 'upstream/logo-url'],
  'fs/promises': ['storage/disk', 'storage/read-regular', 'storage/rules-file'],
  fs: [
    'command-line',
    'config-documents',
    'config/listing-rules',
    'config/secret-files',
    'demo',
    'logger',
    'mcp/load-protocol',
    'pages',
    // Scripts, not parts of the gateway.
    'packaging',
    'graph/schema/print',
    'graph/federation/print',
  ],
};

interface SourceFile {
  /** Path below src, without its ending. */
  readonly name: string;
  readonly text: string;
  /** Files of ours, as `name`, and packages. */
  readonly imports: readonly string[];
}

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

/** The room that a file belongs to: the longest name in the table that fits. */
function roomOf(name: string): string | undefined {
  return Object.keys(WALLS)
    .filter((room) => isIn(name, room))
    .sort((a, b) => b.length - a.length)[0];
}

/** Whether a file may be imported where these places may be. A place does not include rooms of their own below it. */
function isAllowed(name: string, places: readonly string[]): boolean {
  const room = roomOf(name);
  return places.some((place) => isIn(name, place) && (room === undefined || place.length >= room.length));
}

describe('the walls', () => {
  it('are read from the imports that there are', () => {
    expect(files.length).toBeGreaterThan(100);
    const imports = new Set(files.flatMap((file) => file.imports));
    expect([...imports]).toContain('domain/listing');
    expect(files.find(({ name }) => name === 'yoga')?.imports).toContain('pages/playground/playground');
  });

  it('stand around every file, and around nothing that is not there', () => {
    expect(files.filter(({ name }) => roomOf(name) === undefined).map(({ name }) => name)).toEqual([]);
    const places = [...Object.keys(WALLS), ...Object.values(WALLS).flat(), ...Object.values(PACKAGES).flat()];
    expect(places.filter((place) => !files.some(({ name }) => isIn(name, place)))).toEqual([]);
  });

  it.each(Object.entries(WALLS))('%s imports what it may', (room, allowed) => {
    const strays = files
      .filter(({ name }) => roomOf(name) === room)
      .flatMap(({ name, imports }) =>
        imports
          .filter((path) => isOurs(path) && roomOf(path) !== room && !isAllowed(path, allowed))
          .map((path) => `${name} → ${path}`),
      );
    expect(strays, `Move the code, or add the room to "${room}" in WALLS and say why.`).toEqual([]);
  });

  it.each(Object.entries(PACKAGES))('%s is used only where it may be', (imported, places) => {
    const users = files.filter(({ imports }) => imports.includes(imported)).map(({ name }) => name);
    expect(users.length).toBeGreaterThan(0);
    expect(users.filter((name) => !places.some((place) => isIn(name, place)))).toEqual([]);
  });

  it('plugins do not know each other', () => {
    const strays = files
      .filter(({ name }) => isIn(name, 'plugins'))
      .flatMap(({ name, imports }) =>
        imports.filter((path) => isIn(path, 'plugins')).map((path) => `${name} → ${path}`),
      );
    expect(strays).toEqual([]);
  });

  it('process and console are touched in main and start alone', () => {
    const touching = files.filter(({ text }) =>
      /\b(process|console)(\s*\.\w|\[)|['"](node:)?(process|console)['"]/.test(text),
    );
    expect(touching.map(({ name }) => name)).toEqual(['main', 'start']);
  });

  it('resolvers read all but rows through the context, which notes it for the JSON that is kept', () => {
    const CLOCK = /Date\.now|new Date\(\)|performance\.|Math\.random/;
    const SNAPSHOTS = /^import (?!type ).*'(\.\.\/)+snapshots\//m;
    const reading = files.filter(
      ({ name, text }) =>
        /^graph\/(schema|federation)\//.test(name) && (CLOCK.test(text) || SNAPSHOTS.test(text)),
    );
    expect(reading.map(({ name }) => name)).toEqual([]);
  });

  it("the picker's page makes no markup of text", () => {
    const making = files.filter(({ text }) =>
      /innerHTML|outerHTML|insertAdjacent|document\.write/.test(text),
    );
    expect(making.map(({ name }) => name)).toEqual([]);
  });
});

describe('circles', () => {
  /** The first circle that is found from each node, as "a → b → a". */
  function circlesIn(edges: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
    const circles: string[] = [];
    const done = new Set<string>();
    const visit = (node: string, path: readonly string[]) => {
      if (path.includes(node)) {
        circles.push([...path.slice(path.indexOf(node)), node].join(' → '));
        return;
      }
      if (done.has(node)) return;
      for (const next of edges.get(node) ?? []) visit(next, [...path, node]);
      done.add(node);
    };
    for (const node of edges.keys()) visit(node, []);
    return circles;
  }

  it('are there none between files', () => {
    expect(
      circlesIn(new Map(files.map(({ name, imports }) => [name, new Set(imports.filter(isOurs))]))),
    ).toEqual([]);
  });

  it('are there none between rooms', () => {
    const edges = new Map<string, Set<string>>();
    for (const { name, imports } of files) {
      const from = roomOf(name) ?? name;
      const to = imports.filter(isOurs).map((path) => roomOf(path) ?? path);
      edges.set(from, new Set([...(edges.get(from) ?? []), ...to.filter((room) => room !== from)]));
    }
    expect(circlesIn(edges)).toEqual([]);
  });
});

describe('the code', () => {
  it('has named exports only, and no file too long to read in one sitting', () => {
    for (const { name, text } of files) {
      expect(text, name).not.toMatch(/export default/);
      expect(text.split('\n').length, name).toBeLessThanOrEqual(500);
    }
  });

  it('makes no code of text', () => {
    const making = files.filter(({ text }) =>
      /\bFunction\(|(?<![.\w])eval\(|['"](?:node:)?vm['"]/.test(text),
    );
    expect(making.map(({ name }) => name)).toEqual([]);
  });

  it('has about ten files at a level', () => {
    const levels = new Map<string, number>();
    for (const { name } of files) {
      levels.set(dirname(name), (levels.get(dirname(name)) ?? 0) + 1);
    }
    expect([...levels].filter(([, count]) => count > 20)).toEqual([]);
  });
});
