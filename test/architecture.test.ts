import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../src', import.meta.url));

interface SourceFile {
  /** Path below src, without its ending: `picker/picker` is the gateway's, `picker/page/main` runs in browsers. */
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

/** Each import of these files that is not among those allowed, as "file → import". */
function strays(from: RegExp, allowed: RegExp): string[] {
  return files
    .filter(({ name }) => from.test(name))
    .flatMap(({ name, imports }) =>
      imports.filter((path) => !allowed.test(path)).map((path) => `${name} → ${path}`),
    );
}

const ours = (name: string) => files.some((file) => file.name === name);

describe('the walls', () => {
  it('reads the imports that there are', () => {
    expect(files.length).toBeGreaterThan(30);
    expect(files.find(({ name }) => name === 'schema/token')?.imports).toContain('listing/listing');
    expect(files.find(({ name }) => name === 'gateway')?.imports).toContain('playground/playground');
  });

  it('undici is known to listing/http alone', () => {
    expect(files.filter(({ imports }) => imports.includes('undici')).map(({ name }) => name)).toEqual([
      'listing/http',
    ]);
  });

  it.each([
    ['ioredis', 'listing/redis-link'],
    ['fs/promises', 'listing/store-disk'],
    ['prom-client', 'metrics'],
  ])('%s is known to %s alone', (imported, knower) => {
    expect(files.filter(({ imports }) => imports.includes(imported)).map(({ name }) => name)).toEqual([
      knower,
    ]);
  });

  it('GraphQL is unknown in the upstream half', () => {
    expect(
      strays(
        /^(listing|demo)\//,
        /^(?!graphql|@pothos|dataloader|@whatwg-node|schema\/|loaders|context|gateway|plugins\/)/,
      ),
    ).toEqual([]);
  });

  it('HTTP is unknown in the graph half', () => {
    expect(
      strays(
        /^(schema\/|federation\/|loaders|context)/,
        /^(?!http|https|net|undici|graphql-yoga|@whatwg-node|server|plugins\/|listing\/(http|v1|value-transfer|auto|pages|unknown-token|parse|keeper|routes|guard|ceiling|upstream|fleet|store|record|kinds|redis))/,
      ),
    ).toEqual([]);
  });

  it('the page makes no markup of text', () => {
    const making = files.filter(({ text }) =>
      /innerHTML|outerHTML|insertAdjacent|document\.write/.test(text),
    );
    expect(making).toEqual([]);
  });

  it('process and console are touched in main and start alone', () => {
    const touching = files.filter(({ text }) =>
      /\b(process|console)(\s*\.\w|\[)|['"](node:)?(process|console)['"]/.test(text),
    );
    expect(touching.map(({ name }) => name)).toEqual(['main', 'start']);
  });
});

describe('who may know whom', () => {
  it.each<[string, RegExp, RegExp]>([
    [
      'the words of the domain know nothing of ours',
      /^(listing\/listing|errors|config|config-values|logger)$/,
      /^(?!\w+\/\w+$|gateway|main|start|server|loaders|context)|^(http|net|crypto)$/,
    ],
    [
      'the upstream half knows itself, the errors and the log',
      /^listing\//,
      /^(listing\/|errors$|logger$)|^(?!.*\/)(?!(config|context|gateway|loaders|main|metrics|server|start)$)|^timers\/|^fs\/promises$/,
    ],
    ['metrics know nothing of ours', /^metrics$/, /^prom-client$/],
    [
      'loaders know the listing',
      /^loaders$/,
      /^(dataloader|cost|cost-meter|errors|listing\/(address|listing|snapshots|token-search))$/,
    ],
    [
      'types know the context, the loaders and the rows',
      /^schema\//,
      /^(@pothos\/core|graphql|fs|context|cost|errors|schema\/.*|listing\/(address|listing|snapshots|token-order|token-search))$/,
    ],
    [
      'other graphs are told of the schema, and know nothing of how it is served',
      /^federation\//,
      /^(graphql|fs|context|cost|errors|federation\/.*|schema\/.*|listing\/listing)$/,
    ],
    [
      'the gateway knows the schema, the loaders, the context, the plugins and the snapshots',
      /^gateway$/,
      /^(graphql|graphql-yoga|lru-cache|basis|context|cost-meter|loaders|logger|metrics|operation-cost|(federation|picker|playground|plugins|schema)\/.*|listing\/snapshots|errors|turns)$/,
    ],
    [
      'plugins know neither the schema nor each other',
      /^plugins\//,
      /^(?!schema\/|plugins\/|listing\/|playground\/|picker\/|gateway|server|main|start)/,
    ],
    [
      'the server knows the gateway, and what it answered',
      /^server$/,
      /^(answers|basis|context|gateway|http-server|read-body|refusals|request-target|send|events|net|timers\/promises)$/,
    ],
    ['an answer is sent as it was kept', /^send$/, /^(answers|encodings|etags|gateway|http-server)$/],
    [
      'the bounds on what clients may do know nothing of what is served',
      /^(http-server|connections|read-body|send-body|byte-budget|cut-report|refusals|request-target)$/,
      /^(byte-budget|connections|context|cors|cut-report|errors|logger|read-body|refusals|request-target|send-body|http|net|stream)$/,
    ],
    ['who may read answers is said without anything of ours', /^cors$/, /^$/],
    [
      'kept answers know what they were made from',
      /^answers$/,
      /^(basis|document-tokens|encodings|crypto|graphql|http|lru-cache)$/,
    ],
    ['what answers are made from are snapshots', /^basis$/, /^listing\/snapshots$/],
    ['encodings know nothing of ours', /^encodings$/, /^(util|zlib)$/],
    ['tags know nothing at all', /^etags$/, /^$/],
    ['the fair queue knows lists', /^(fair-queue|linked-list)$/, /^linked-list$/],
    ['pages have in common how they are written', /^pages\//, /^(crypto|encodings)$/],
    [
      'the playground knows itself, and what pages have in common',
      /^playground\//,
      /^(playground\/|pages\/page$|fs$|module$|@graphql-yoga\/render-graphiql)/,
    ],
    ['the picker is files and what pages have in common', /^picker\/picker$/, /^(fs|pages\/page)$/],
    ["the picker's page knows itself, and the graph by asking it", /^picker\/page\//, /^picker\/page\//],
    ['nobody else knows what runs in browsers', /^(?!picker\/page\/)/, /^(?!picker\/page\/)/],
    ['main knows only what it starts', /^main$/, /^(start|v8)$/],
    ['nobody else knows what is started', /^(?!main$)/, /^(?!main$|start$)/],
    ['only start knows the demo and the settings', /^(?!start$)/, /^(?!demo\/|config$)/],
  ])('%s', (_name, from, allowed) => {
    expect(files.some(({ name }) => from.test(name))).toBe(true);
    expect(strays(from, allowed)).toEqual([]);
  });

  it('nobody goes in circles', () => {
    const circles: string[] = [];
    const visit = (name: string, path: readonly string[]) => {
      if (path.includes(name)) {
        circles.push([...path.slice(path.indexOf(name)), name].join(' → '));
        return;
      }
      const file = files.find((candidate) => candidate.name === name);
      for (const next of file?.imports.filter(ours) ?? []) visit(next, [...path, name]);
    };
    for (const { name } of files) visit(name, []);
    expect(circles).toEqual([]);
  });
});

describe('the code', () => {
  it('has named exports only, and no file too long to read in one sitting', () => {
    for (const { name, text } of files) {
      expect(text, name).not.toMatch(/export default/);
      expect(text.split('\n').length, name).toBeLessThanOrEqual(300);
    }
  });
});
