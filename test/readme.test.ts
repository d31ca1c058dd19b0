/** The commands, queries, links and names in every README and guide work and exist. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { buildSchema } from 'graphql';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startFakeSuccessor } from './support/fake-successor.js';
import { startFakeUpstream, status } from './support/fake-upstream.js';
import { freePort } from './support/free-port.js';
import { ask } from './support/gateway-process.js';
import { blockOf, blocksOf, ROOT, readmes, readText, variablesOf } from './support/readme.js';
import { isRedisMissing } from './support/redis.js';
import { spawnGroup } from './support/server-process.js';
import { shareGateway } from './support/shared-gateway.js';
import { temporaryDirectory } from './support/temporary-files.js';

const README = 'README.md';
const STORAGE = 'src/storage/README.md';
const GRAPH = 'src/graph/README.md';
const MAX_WORDS = 1_500;
const MAX_PICTURE_BYTES = 200_000;

const HERE = 'test/readme.test.ts';

/** The blocks of every README, by the test that runs them. */
const RUN_BY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [README]: {
    [HERE]: 'start, tests, rest, query, answer, real upstream, ChainPicker, TokenPicker, DestinationPicker',
    'test/clients/recipes.test.ts': 'recipes/fetch.ts, recipes/apollo.ts',
    'test/library/hosts.test.ts': 'hosts/node-http.js',
  },
  [GRAPH]: {
    [HERE]: 'Listings, Identifiers, Sources, machines',
    'test/graph/recipes.test.ts': 'HeldFirst',
    'test/graph/schema/changes.test.ts': 'TokenChanges',
  },
  'src/search/searching.md': { 'test/graph/recipes.test.ts': 'ReachableAndOthers' },
  [STORAGE]: {
    [HERE]: 'disk, successor, redis, sharing',
    'test/storage/cores.test.ts': 'cluster',
  },
  'src/library/README.md': {
    'test/library/hosts.test.ts': 'hosts/next/app/tokens/[[...path]]/route.js, hosts/next/next.config.js',
  },
  'src/graph/federation/README.md': {
    'test/federation/recipes.test.ts':
      'apollo-router.yaml, chain-facts.js, hive-gateway.js, mesh.config.js, router.yaml, cosmo.yaml, stitching.js',
  },
  '.deploy/README.md': { 'test/deploy/prometheus.test.ts': 'prometheus.yaml' },
  'test/clients/README.md': {
    'test/clients/recipes.test.ts':
      'recipes/urql.ts, projects/relay/relay.config.json, projects/relay/src/TokenPicker.ts, projects/codegen/codegen.json, projects/tada/tada.json, projects/tada/src/graphql.ts',
    'test/clients/nullability.test.ts': 'codegen-nullability.json, semantic-to-strict',
  },
};

/** A copy of the project as a newcomer has it: without anything installed or built, unless it is named. */
function copyProject(withLinks: readonly string[] = []): string {
  const copy = temporaryDirectory();
  const left = new Set(['.git', 'build', 'dist', 'snapshots'].map((name) => join(ROOT, name)));
  const isCopied = (path: string) => !left.has(path) && basename(path) !== 'node_modules';
  cpSync(ROOT, copy, { recursive: true, filter: isCopied });
  for (const name of withLinks) symlinkSync(join(ROOT, name), join(copy, name));
  return copy;
}

/** Runs a command of a README. */
const run = (command: string, cwd: string, env: Record<string, string> = {}) =>
  spawnGroup('bash', ['-c', command], { cwd, env: { ...process.env, ...env } });

describe('the commands', () => {
  it('the commands start, answer the query as the README says, use an upstream, keep files, change over, and test', {
    timeout: 1_800_000,
  }, async () => {
    const copy = copyProject();
    const port = await freePort();
    const sh = async (command: string) =>
      JSON.parse((await promisify(execFile)('bash', ['-c', command])).stdout) as unknown;
    const env = { PORT: String(port), npm_config_prefer_offline: 'true', NO_COLOR: '1' };
    // The first start builds; the others need not.
    const elsewhere = { ...env, PORT: '0', npm_config_ignore_scripts: 'true' };
    const started = run(blockOf(README, 'start'), copy, env);
    await expect.poll(started.output, { timeout: 900_000 }).toContain('"msg":"Listening"');
    expect(started.output()).not.toMatch(/npm warn (?!Unknown \w+ config)|EBADENGINE|deprecated/i);
    await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status).toBe(200);
    const answer = JSON.parse(blockOf(README, 'answer')) as unknown;
    expect(await sh(blockOf(README, 'query').replace(':4000/', `:${port}/`))).toEqual(answer);

    const lines = blockOf(GRAPH, 'machines')
      .replaceAll(':4000/', `:${port}/`)
      .replaceAll('\\\n', '')
      .trim()
      .split('\n');
    expect(await Promise.all(lines.map(sh))).toMatchObject([
      { tokens: expect.arrayContaining([expect.objectContaining({ chainId: 8453 })]) },
      { result: { structuredContent: { tokenSearch: { totalCount: expect.any(Number) } } } },
      { data: { chains: expect.arrayContaining([{ caip2: 'eip155:8453' }]) } },
    ]);
    const address = `http://127.0.0.1:${port}`;
    await expect
      .poll(async () => (await ask<{ sources: unknown }>(address, only(GRAPH, 'Sources'))).data?.sources)
      .toMatchObject({ isComplete: false, asOf: expect.any(String), chains: expect.any(Array) });

    const upstream = await startFakeUpstream({}, onTestFinished);
    const other = run(blockOf(README, 'real upstream').replace(/https:\S+/, upstream.url), copy, elsewhere);
    await expect.poll(() => upstream.count(), { timeout: 300_000 }).toBe(2);
    await expect.poll(other.output).toContain(`"upstream":"${upstream.url}","isDemo":false`);

    const kept = run(blockOf(STORAGE, 'disk').replace(/https:\S+/, upstream.url), copy, elsewhere);
    const files = () => existsSync(join(copy, 'snapshots')) && readdirSync(join(copy, 'snapshots')).sort();
    await expect
      .poll(files, { timeout: 300_000 })
      .toEqual([/^chains-.*\.snapshot$/, /^tokens-.*\.snapshot$/].map((name) => expect.stringMatching(name)));
    await expect.poll(kept.output).toContain('"msg":"Listening"');

    const rest = blockOf(README, 'rest').replace(/https:[^']+/, upstream.url);
    const joined = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', rest]);
    expect(JSON.parse(joined.stdout)).toEqual(answer);

    upstream.planBoth(status(410));
    const successor = await startFakeSuccessor();
    onTestFinished(successor.close);
    const services = [upstream.url, successor.url];
    const changing = blockOf(STORAGE, 'successor')
      .replace(/https:\S+/g, () => services.shift() ?? '')
      .replace('snapshots', 'new');
    const changed = run(changing, copy, elsewhere);
    await expect
      .poll(changed.output, { timeout: 300_000 })
      .toContain('the listings are from the value-transfer service from now on');

    // Only one file is tested: all tests would include this one. `npm ci` was run above.
    const tested = run(`${blockOf(README, 'tests').trim().replace('npm ci && ', '')} -- schema-file`, copy, {
      ...elsewhere,
      CI: 'true',
    });
    expect(await tested.exited, tested.output()).toBe(0);
    await expect.poll(tested.output).toMatch(/Tests\s+3 passed/);
  });

  it.skipIf(isRedisMissing)('the commands for Redis let gateways share', { timeout: 900_000 }, async () => {
    const port = String(await freePort());
    const copy = copyProject(['node_modules', 'dist']);
    run(blockOf(STORAGE, 'redis').replace('6379', port), copy);
    const upstream = await startFakeUpstream({}, onTestFinished);
    const command = blockOf(STORAGE, 'sharing')
      .replace('6379', port)
      .replace(/https:\S+/, upstream.url);
    // The first gateway must not refresh before the second starts.
    const env = {
      PORT: '0',
      CHAINS_FRESH_MS: '3600000',
      TOKENS_FRESH_MS: '3600000',
      npm_config_ignore_scripts: 'true',
    };
    for (let gateway = 0; gateway < 2; gateway++) {
      const { output } = run(command, copy, env);
      await expect.poll(output, { timeout: 300_000 }).toContain('Sharing snapshots through Redis');
      await expect.poll(output).toContain('New snapshot of the tokens listing');
    }
    expect(upstream.count()).toBe(2);
  });
});

describe('the queries', () => {
  const gateway = shareGateway();

  const answer = async <Data>(guide: string, operation: string, variables?: object) => {
    const address = gateway.endpoint.replace('/graphql', '');
    const { data, ...rest } = await ask<Data>(address, only(guide, operation), variables);
    expect(rest, operation).toEqual({});
    return data;
  };

  it.each(['Listings', 'Identifiers'])('the query %s is answered, with rows', async (operation) => {
    for (const value of Object.values(await answer<Record<string, unknown>>(GRAPH, operation))) {
      expect(Array.isArray(value) ? value.length : value).toBeTruthy();
    }
  });

  it('the queries of the pickers take their variables from the answer to the picker before', async () => {
    const { chains } = await answer<{ chains: { chainKey: string }[] }>(
      README,
      'ChainPicker',
      variablesOf(README, 'ChainPicker'),
    );
    const found = variablesOf(README, 'TokenPicker');
    expect(found).toMatchObject({ filter: { chainKeys: chains.map(({ chainKey }) => chainKey) } });
    type Found = { tokenSearch: { edges: { node: { chainKey: string; address: string } }[] } };
    const { tokenSearch } = await answer<Found>(README, 'TokenPicker', found);
    const source = variablesOf(README, 'DestinationPicker');
    const { chainKey: srcChainKey, address: srcToken } = tokenSearch.edges[0]?.node ?? {};
    expect({ srcChainKey, srcToken }).toEqual(source);
    type Groups = { destinations: { tokens: unknown[] }[] };
    const { destinations } = await answer<Groups>(README, 'DestinationPicker', source);
    expect(destinations.flatMap(({ tokens }) => tokens).length).toBeGreaterThan(0);
  });
});

describe('every guide', () => {
  it('every guide has only blocks that a test runs', () => {
    const found = readmes().flatMap((path) => blocksOf(path).map(({ name }) => `${path}: ${name}`));
    const known = Object.entries(RUN_BY).flatMap(([path, blocks]) =>
      Object.values(blocks).flatMap((names) => names.split(', ').map((name) => `${path}: ${name}`)),
    );
    const hint = 'Put <!-- test: name --> above the block, run it in a test, and add it to RUN_BY here.';
    expect(found.toSorted(), hint).toEqual(known.toSorted());
  });

  it('every guide names only scripts that exist', () => {
    const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> };
    const named = readmes().flatMap((path) =>
      [...readText(path).matchAll(/npm run ([\w:]+)/g)].map(([, script]) => `${path}: ${script}`),
    );
    const isThere = (name: string) => (name.split(': ')[1] ?? '') in scripts;
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
    expect(words.length, 'Move something to the guide that it is about.').toBeLessThanOrEqual(MAX_WORDS);
    const picture = statSync(join(ROOT, 'src/pages/picker/picker.png'));
    expect(picture.size).toBeLessThanOrEqual(MAX_PICTURE_BYTES);
  });
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
    expect(linked.toSorted()).toEqual(namedAnchorsOf(path).toSorted());
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
    const ofEveryServer = [
      'connection',
      'content-encoding',
      'content-length',
      'content-type',
      'date',
      'keep-alive',
    ];
    const named = new Set([...namedAnchorsOf('src/server/README.md'), ...ofEveryServer, 'transfer-encoding']);
    expect([...headers.keys()].filter((name) => !named.has(name))).toEqual([]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });
});

/** One operation of a guide, alone. */
function only(guide: string, operation: string): string {
  const block = blockOf(guide, operation);
  return block.split(/^(?=query )/m).find((text) => text.startsWith(`query ${operation}`)) ?? block;
}

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
