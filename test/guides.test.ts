/** Every README and guide names and links only what exists, and the README names everything that it indexes. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildSchema } from 'graphql';
import { describe, expect, it } from 'vitest';
import { shareGateway } from './support/gateway-process.js';
import { blockOf, blocksOf, PACKAGE, ROOT, readmes, readText } from './support/readme.js';

const README = 'README.md';
const MAX_WORDS = 1_500;
const MAX_PICTURE_BYTES = 200_000;

const COMMANDS = 'test/readme.test.ts';

/** The blocks of each guide by the test that runs them. Those of a folder show its files, which tests run. */
const RUN_BY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [README]: {
    [COMMANDS]:
      'start, tests, rest, query, answer, real upstream, ChainPicker, TokenPicker, DestinationPicker',
    'test/clients': 'recipes/fetch.ts, recipes/apollo.ts',
    'test/library': 'hosts/node-http.js',
  },
  'src/graph/README.md': {
    [COMMANDS]: 'Listings, Identifiers, Sources, machines',
    'test/graph/recipes.test.ts': 'HeldFirst',
    'test/graph/schema/changes.test.ts': 'TokenChanges',
  },
  'src/search/searching.md': { 'test/graph/recipes.test.ts': 'ReachableAndOthers' },
  'src/storage/README.md': {
    [COMMANDS]: 'disk, successor, redis, sharing',
    'test/storage/cores.test.ts': 'cluster',
  },
  'src/library/README.md': {
    'test/library': 'hosts/next/app/tokens/[[...path]]/route.js, hosts/next/next.config.js',
  },
  'src/graph/federation/README.md': {
    'test/federation/recipes':
      'apollo-router.yaml, chain-facts.js, hive-gateway.js, mesh.config.js, router.yaml, cosmo.yaml, stitching.js',
  },
  '.deploy/README.md': { 'test/deploy/prometheus.test.ts': 'prometheus.yaml' },
  'test/clients/README.md': {
    'test/clients':
      'recipes/urql.ts, projects/relay/relay.config.json, projects/relay/src/TokenPicker.ts, projects/codegen/codegen.json, projects/tada/tada.json, projects/tada/src/graphql.ts',
    'test/clients/nullability.test.ts': 'codegen-nullability.json, semantic-to-strict',
  },
};
const BLOCKS = Object.entries(RUN_BY).flatMap(([guide, blocks]) =>
  Object.entries(blocks).flatMap(([by, names]) => names.split(', ').map((name) => ({ guide, by, name }))),
);

it('every guide has only blocks that a test runs', () => {
  const found = readmes().flatMap((path) => blocksOf(path).map(({ name }) => `${path}: ${name}`));
  const known = BLOCKS.map(({ guide, name }) => `${guide}: ${name}`);
  const hint = 'Put <!-- test: name --> above the block, run it in a test, and add it to RUN_BY here.';
  expect(found.toSorted(), hint).toEqual(known.toSorted());
});

it.each(BLOCKS.filter(({ by }) => !by.endsWith('.test.ts')))(
  '$guide shows $name as in the file that tests run, in few lines',
  ({ guide, by, name }) => {
    const file = readText(`${by}/${name}`);
    const copyIt = `Copy ${by}/${name} into ${guide}, below <!-- test: ${name} -->.`;
    expect(blockOf(guide, name), copyIt).toBe(file);
    expect(file.trimEnd().split('\n').length).toBeLessThanOrEqual(by === 'test/clients' ? 15 : 20);
  },
);

it('every guide names only scripts that exist', () => {
  const named = readmes().flatMap((path) =>
    [...readText(path).matchAll(/npm run ([\w:]+)/g)].map(([, script]) => `${path}: ${script}`),
  );
  const isThere = (name: string) => (name.split(': ')[1] ?? '') in PACKAGE.scripts;
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

it.each(readmes())('%s names and links only files and headings that exist', (path) => {
  const text = readText(path);
  const folder = dirname(path);
  const exists = (file: string) => existsSync(join(ROOT, folder, file));
  const dead = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)].flatMap(([link, file, id]) => {
    const isDead = file ? !exists(file) : false;
    return isDead || (id && !anchorsOf(file ? join(folder, file) : path).includes(id)) ? [link] : [];
  });
  expect(dead, 'dead links').toEqual([]);
  const files = [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.(?:ts|js|json|graphql))`/g)].map(
    ([, file = '']) => file,
  );
  const gone = files.filter(
    (file) => !/^(dist|build)\//.test(file) && !exists(file) && !existsSync(join(ROOT, file)),
  );
  expect(gone, 'files that are gone').toEqual([]);
});

it('the README at the top has few words and a small picture', () => {
  const words = readText(README)
    .split(/\s+/)
    .filter((word) => /[\p{L}\d]/u.test(word));
  const tooMany = Math.max(0, words.length - MAX_WORDS);
  expect(tooMany, `The README has ${tooMany} words too many: move some to the guide they are about.`).toBe(0);
  const picture = statSync(join(ROOT, 'src/pages/picker/picker.png'));
  expect(picture.size).toBeLessThanOrEqual(MAX_PICTURE_BYTES);
});

it('the map in src names every folder and every file of the top level, by paths below src', () => {
  const map = readText('src/README.md');
  const entries = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
    .filter((name) => name !== 'README.md');
  const missing = entries.filter((name) => !map.includes(`\`${name}\``));
  expect(missing, 'Add them to src/README.md.').toEqual([]);
  const names = [...map.matchAll(/`([\w/-]+\.ts|[\w/-]+\/)`/g)].map(([, name = '']) => name);
  const inPages = 'http/ request/ execution/ schema/ cost/ picker/ page/ playground/'.split(' ');
  const exists = (name: string) => existsSync(join(ROOT, 'src', name)) || existsSync(join(ROOT, name));
  expect(names.filter((name) => !inPages.includes(name) && !exists(name))).toEqual([]);
});

it('the README names every query', () => {
  const [, table = ''] = readText(README).split('\n## All queries\n');
  const fields = Object.keys(buildSchema(readText('schema.graphql')).getQueryType()?.getFields() ?? {});
  expect(fields.length).toBeGreaterThan(10);
  expect(fields.filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
});

it.each(['src/config/settings.md', 'src/domain/error-codes.md', 'src/server/README.md'])(
  'the index of the README links to each name in %s',
  (path) => {
    const [, index = ''] = readText(README).split('\n## Index\n');
    const linked = [...index.matchAll(/^\[`[^`]+`\]\(([^)#]+)#([^)]+)\)$/gm)]
      .filter(([, file]) => file === path)
      .map(([, , id = '']) => id);
    const named = namedAnchorsOf(path);
    expect({
      missing: named.filter((id) => !linked.includes(id)),
      unknown: linked.filter((id) => !named.includes(id)),
      repeated: linked.filter((id, nth) => linked.indexOf(id) < nth),
    }).toEqual({ missing: [], unknown: [], repeated: [] });
  },
);

describe('the guide to HTTP', () => {
  const gateway = shareGateway();
  const query = encodeURIComponent('{ chains { id } }');
  const origin = 'https://wallet.example';
  const requests: readonly (readonly [path: string, init: RequestInit])[] = [
    [`/graphql?query=${query}`, {}],
    ['/graphql', { method: 'DELETE' }],
    [
      '/graphql',
      { method: 'OPTIONS', headers: { origin, 'access-control-request-headers': 'content-type' } },
    ],
    ['/graphql', { headers: { accept: 'text/html' } }],
    ['/', { headers: { accept: 'text/html' } }],
    ['/tokenlist.json', {}],
    ['/schema.graphql', {}],
    ['/ready', {}],
    ['/mcp', {}],
  ];

  it.each(requests)('it names each header of the response to %s with %j', async (path, init) => {
    const { headers } = await fetch(gateway.endpoint.replace('/graphql', path), init);
    const ofServers = 'connection content-encoding content-length content-type date keep-alive'.split(' ');
    const named = new Set([...namedAnchorsOf('src/server/README.md'), ...ofServers, 'transfer-encoding']);
    expect([...headers.keys()].filter((name) => !named.has(name))).toEqual([]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });
});

/** The anchors of a file: those that GitHub gives its headings, and its own. */
function anchorsOf(path: string): readonly string[] {
  const text = readText(path);
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
  return [...headings, ...namedAnchorsOf(path)];
}

/** The anchors of single settings, codes, paths and headers in a guide. */
function namedAnchorsOf(path: string): readonly string[] {
  return [...readText(path).matchAll(/<a id="([\w-]+)">/g)].map(([, id = '']) => id);
}
