/** Writes files of the build. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

/** Replaces a file if its content has changed. The replacement is atomic: a running gateway may read the file meanwhile. */
export function replaceFile(to: URL, content: Buffer): void {
  if (existsSync(to) && readFileSync(to).equals(content)) return;
  mkdirSync(new URL('.', to), { recursive: true });
  const unfinished = new URL(`${to.href}.new`);
  writeFileSync(unfinished, content);
  renameSync(unfinished, to);
}
