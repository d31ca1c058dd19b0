import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Writes a file of the build. A gateway that runs may read it meanwhile, so it is replaced at once, and only if it has changed. */
export function replaceFile(to: URL, content: Buffer): void {
  if (existsSync(to) && readFileSync(to).equals(content)) return;
  mkdirSync(new URL('.', to), { recursive: true });
  const unfinished = new URL(`${to.href}.new`);
  writeFileSync(unfinished, content);
  renameSync(unfinished, to);
}
