/** Settings that hold secrets can be read from files, as container platforms mount them. */
import { readFileSync, statSync } from 'node:fs';
import { SettingError } from '../config-values.js';

/** The settings that hold passwords or keys. */
export const SECRET_SETTINGS: readonly string[] = ['UPSTREAM_HEADERS', 'REDIS_URL'];

const MAX_BYTES = 65_536;

/** The variable that names the file with the value of a setting, such as `REDIS_URL_FILE`. */
export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

/**
 * Reads the value of a setting from a file.
 *
 * @returns the content without the white space around it
 * @throws SettingError if it is not a regular file, is empty, has more than 64 KiB, or cannot be read
 */
export function readSecret(name: string, path: string): string {
  const refuse = (fault: string) =>
    new SettingError(
      `${fileVariable(name)} to name a file with the value`,
      () => `${JSON.stringify(path.slice(0, 100))}, ${fault}`,
    );
  let text: string;
  try {
    const found = statSync(path);
    // A FIFO would block the start for ever, and a device has no end.
    if (!found.isFile()) throw refuse('which is not a regular file');
    if (found.size > MAX_BYTES) throw refuse(`which has ${found.size} bytes and may have ${MAX_BYTES}`);
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof SettingError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    throw refuse(`which cannot be read (${code})`);
  }
  if (text === '') throw refuse('which is empty');
  return text;
}
