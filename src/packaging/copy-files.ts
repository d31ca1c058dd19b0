/** A script of the build: puts the files that the gateway reads at run time beside the compiled code. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { replaceFile } from './replace-file.js';

/** The folders of such files, and their endings. */
const FOLDERS: readonly (readonly [string, RegExp])[] = [
  ['demo/', /\.json$/],
  ['pages/picker/page/', /\.(css|html|js|svg)$/],
];

/** GraphiQL is packed as two modules of text. Only the text is needed, and its licence. */
const PACKED = '@graphql-yoga/render-graphiql/graphiql';
const DIST = new URL('../', import.meta.url);
const GRAPHIQL = new URL('pages/playground/graphiql/', DIST);

for (const [folder, isServed] of FOLDERS) {
  const from = new URL(`../src/${folder}`, DIST);
  const to = new URL(folder, DIST);
  mkdirSync(to, { recursive: true });
  const names = filesIn(from).filter((name) => isServed.test(name));
  for (const name of filesIn(to)) {
    if (isServed.test(name) && !names.includes(name)) rmSync(new URL(name, to));
  }
  for (const name of names) replaceFile(new URL(name, to), readFileSync(new URL(name, from)));
}

const packed = (await import(PACKED)) as Readonly<Record<string, string>>;
const texts = {
  'graphiql.js': packed.js,
  'graphiql.css': packed.css,
  'editor.worker.js': packed.editorWorkerService,
  'json.worker.js': packed.jsonWorker,
  'graphql.worker.js': packed.graphqlWorker,
};
mkdirSync(GRAPHIQL, { recursive: true });
for (const [name, text] of Object.entries(texts)) {
  if (!text) throw new TypeError(`Expected the text of ${name} in ${PACKED}, got none`);
  replaceFile(new URL(name, GRAPHIQL), Buffer.from(text));
}
const licence = new URL('../LICENSE', import.meta.resolve(PACKED));
replaceFile(new URL('LICENSE', GRAPHIQL), readFileSync(licence));

/** The paths of all files below a folder. */
function filesIn(folder: URL): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' });
}
