/** A script of the build: puts the files that the gateway reads at run time beside the compiled code. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

/** The folders of such files, and their endings. */
const FOLDERS: readonly (readonly [string, RegExp])[] = [
  ['demo/', /\.json$/],
  ['pages/picker/page/', /\.(css|html|js|svg)$/],
];

for (const [folder, isServed] of FOLDERS) {
  const from = new URL(`../src/${folder}`, import.meta.url);
  const to = new URL(folder, import.meta.url);
  mkdirSync(to, { recursive: true });
  const names = filesIn(from).filter((name) => isServed.test(name));
  for (const name of filesIn(to)) {
    if (isServed.test(name) && !names.includes(name)) rmSync(new URL(name, to));
  }
  for (const name of names) copy(new URL(name, from), new URL(name, to));
}

/** The paths of all files below a folder. */
function filesIn(folder: URL): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' });
}

/** A gateway that runs may read the file meanwhile, so it is replaced at once, and only if it has changed. */
function copy(from: URL, to: URL): void {
  const content = readFileSync(from);
  if (existsSync(to) && readFileSync(to).equals(content)) return;
  mkdirSync(new URL('.', to), { recursive: true });
  const unfinished = new URL(`${to.href}.new`);
  writeFileSync(unfinished, content);
  renameSync(unfinished, to);
}
