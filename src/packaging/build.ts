/** The last step of the build: adds to the compiled code the files that the gateway reads at run time. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { marked } from 'marked';

const ROOT = new URL('../../', import.meta.url);
const DIST = new URL('dist/', ROOT);
const PICKER = new URL('pages/picker/', DIST);
const GRAPHIQL = new URL('pages/graphiql/', DIST);
/** GraphiQL is packaged as modules that export texts. Only the texts and the licence are needed. */
const PACKED = '@graphql-yoga/render-graphiql/graphiql';

/** Copies the files of a folder that are read or served: those with one of these endings. */
function copy(folder: string): void {
  const filter = (path: string) => statSync(path).isDirectory() || /\.(css|html|js|json|svg)$/.test(path);
  cpSync(new URL(`src/${folder}`, ROOT), new URL(folder, DIST), { recursive: true, filter });
}

/** Gives GraphiQL's style sheet colours of the picker: the accent, and the background of the dark theme. */
function withColours(css: string): string {
  return css
    .replaceAll('320, 95%, 43%', '245, 61%, 53%')
    .replaceAll('338, 100%, 67%', '243, 100%, 82%')
    .replaceAll('219, 29%, 18%', '234, 28%, 7%');
}

/** Adds GraphiQL's history panel, which the package contains, but can only show in place of the explorer. */
function withHistory(script: string): string {
  const name = /\b([\w$]+)=\{title:"History",icon:/.exec(script)?.[1];
  if (!name) return script;
  return script.replace(
    /\bplugins:\[([\w$]+)\](?=,schemaDescription:)/,
    (_, explorer) => `plugins:[${explorer},${name}]`,
  );
}

/**
 * Wraps long lines in all editors, and shows each character as it is: a ligature would show the `0x` of an address as
 * `0×`. On phones the letters are smaller, and there are no line numbers and no signs to fold lines.
 */
function withEditorOptions(script: string): string {
  const forPhones = '...(Math.min(innerWidth,innerHeight)<600&&{fontSize:13,lineNumbers:"off",folding:!1})';
  return script.replace(
    /(fontSize:15,)(minimap:[^()]+fontLigatures:)!0/,
    (_, size, others) => `${size}${forPhones},wordWrap:"on",${others}!1`,
  );
}

async function unpackGraphiql(): Promise<void> {
  const packed = (await import(PACKED)) as Readonly<Record<string, string>>;
  const texts = {
    'graphiql.js': packed.js && withEditorOptions(withHistory(packed.js)),
    'graphiql.css': packed.css && withColours(packed.css),
    'editor.worker.js': packed.editorWorkerService,
    'json.worker.js': packed.jsonWorker,
    'graphql.worker.js': packed.graphqlWorker,
    LICENSE: readFileSync(new URL('../LICENSE', import.meta.resolve(PACKED)), 'utf8'),
  };
  mkdirSync(GRAPHIQL, { recursive: true });
  for (const [name, text] of Object.entries(texts)) {
    if (!text) throw new TypeError(`Expected the text of ${name} in ${PACKED}, got none`);
    writeFileSync(new URL(name, GRAPHIQL), text);
  }
}

/**
 * The README as a page, without its index and the line that links to it. Only links to other sites stay links: the
 * pictures and guides are not served. The gateway adds links to its pages and files.
 */
function guide(): string {
  const readme = readFileSync(new URL('README.md', ROOT), 'utf8')
    .replace(/^## Index\n.*/ms, '')
    .replace(/^- \*\*Find:.*\n/m, '')
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
    <nav aria-label="Pages">{{links}}</nav>
${marked.parse(readme, { async: false })}  </body>
</html>
`;
}

/** The commit that is built, with `-dirty` if files have changed since. The build of an image gets it as REVISION. */
function revision(): string {
  const describe = ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'];
  const git = spawnSync('git', describe, { cwd: ROOT, encoding: 'utf8' });
  return process.env.REVISION || git.stdout?.trim() || 'unknown';
}

copy('demo/');
for (const folder of ['pages/picker/', 'pages/playground/']) {
  // The gateway serves all files of this folder, so none may be left from an earlier build.
  rmSync(new URL(folder, DIST), { recursive: true, force: true });
  copy(folder);
}
writeFileSync(new URL('guide.html', PICKER), guide());
await unpackGraphiql();
writeFileSync(new URL('revision.json', DIST), JSON.stringify(revision()));
