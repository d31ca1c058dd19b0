/** Files and directories that exist until the end of a test. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { AtEnd } from './ends.js';

/** A new directory. The end of the test removes it, or the end at which `atEnd` calls its functions. */
export function temporaryDirectory(atEnd: AtEnd = onTestFinished): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-'));
  atEnd(async () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function temporaryFile(text: string): string {
  const path = join(temporaryDirectory(), 'file.txt');
  writeFileSync(path, text);
  return path;
}
