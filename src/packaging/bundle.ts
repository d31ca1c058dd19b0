/**
 * A script of the build: bundles the gateway and its packages into a few files. Finding, opening and linking some 600
 * files would take almost half of the time of a start.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { replaceFile } from './replace-file.js';

const DIST = fileURLToPath(new URL('../', import.meta.url));
const BUNDLE = new URL('../bundle/', import.meta.url);
/** Packages that only some gateways load are not bundled. In the bundle, tracing could not instrument ioredis. */
const EXTERNAL = ['ioredis', 'pino-pretty'];

/** Keeps the `import.meta.url` of each module: some modules read files beside them. */
const ownUrls: Plugin = {
  name: 'own urls',
  transform(code, id) {
    if (!id.startsWith(DIST) || !code.includes('import.meta.url')) return null;
    const url = `new URL(${JSON.stringify(`../${id.slice(DIST.length)}`)}, import.meta.url).href`;
    return code.replaceAll('import.meta.url', url);
  },
};

const build = await rolldown({
  input: `${DIST}start.js`,
  platform: 'node',
  external: EXTERNAL,
  plugins: [ownUrls],
});
const { output } = await build.generate({ format: 'esm', chunkFileNames: '[name].js' });
const chunks = output.filter((file): file is OutputChunk => file.type === 'chunk');
const files = new Map(chunks.map(({ fileName, code }) => [fileName, code]));
files.set('LICENSES', licencesOf(chunks.flatMap(({ moduleIds }) => moduleIds)));
for (const [name, text] of files) replaceFile(new URL(name, BUNDLE), Buffer.from(text));
for (const name of readdirSync(BUNDLE)) if (!files.has(name)) rmSync(new URL(name, BUNDLE));

/** The licences of the bundled packages; copies must include them. */
function licencesOf(modules: readonly string[]): string {
  const folders = new Set(
    modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []),
  );
  return [...folders].toSorted().map(licenceOf).join('\n\n');
}

/** @throws Error for a package that names no licence */
function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  if (license === undefined) throw new Error(`Expected a licence in ${folder}/package.json, got none`);
  const file = readdirSync(folder).find((each) => /^(licen[cs]e|copying)/i.test(each));
  const text = file === undefined ? '' : readFileSync(`${folder}/${file}`, 'utf8');
  return `${name} ${version}, ${license}\n\n${text.trim()}`;
}
