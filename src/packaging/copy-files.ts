/** A script of the build: copies the files that the gateway reads at run time to the compiled code. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { marked } from 'marked';
import { replaceFile } from './replace-file.js';

/** The folders of the files to copy, each with the endings of their names. */
const FOLDERS: readonly (readonly [string, RegExp])[] = [
  ['demo/', /\.json$/],
  ['pages/picker/', /\.(css|html|js|svg)$/],
];

/** GraphiQL is packaged as modules that export texts. Only the texts and the licence are needed. */
const PACKED = '@graphql-yoga/render-graphiql/graphiql';
const DIST = new URL('../', import.meta.url);
const GRAPHIQL = new URL('pages/graphiql/', DIST);

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

replaceFile(new URL('pages/picker/guide.html', DIST), Buffer.from(guide()));

/** The README as a page. Only links to other sites stay links: the pictures and guides are not served. */
function guide(): string {
  const readme = readFileSync(new URL('../README.md', DIST), 'utf8')
    .replaceAll(/^!\[.*\n/gm, '')
    .replaceAll(/<!--.*?-->\n?/gs, '')
    .replaceAll(/<(http:[^>]*)>/g, '`$1`')
    .replaceAll(/\[([^\]]+)\]\((?!https:)[^)]*\)/g, '$1');
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Guide</title>
    <link rel="icon" href="./icon.svg">
    <link rel="stylesheet" href="./guide.css">
  </head>
  <body>
${marked.parse(readme, { async: false })}  </body>
</html>
`;
}

/** The paths of all files below a folder. */
function filesIn(folder: URL): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' });
}
