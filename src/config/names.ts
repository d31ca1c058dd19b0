/** Finds environment variables that look like misspelt or former settings. */

import { isOneTypo } from '../domain/fold-text.js';
import { SETTINGS } from './config.js';
import { fileVariable, SECRET_SETTINGS } from './files.js';

/** An environment variable whose name resembles that of a setting. */
export interface MistypedName {
  readonly name: string;
  /** The setting that was probably meant. Undefined for a former setting. */
  readonly meant: string | undefined;
}

/** Settings of earlier versions. An operator who still sets one of them expects its old effect, which is gone. */
const FORMER_SETTINGS = [
  'DESTINATIONS_FRESH_MS',
  'HOLD_BACK_SHRINK',
  'MAX_QUERY_TOKENS',
  'MAX_ROUTES_PER_OPERATION',
  'MAX_ROWS',
  'REDIS_SECRET',
  'REQUIRE_UPSTREAM',
];

/** Variables with other names are not reported: such names can contain anything. */
const PLAIN_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/**
 * Finds former settings, and variables whose names differ from a setting only by one typo, by letter case or by the
 * separators of words. Only names are reported, because the values can be secrets.
 */
export function mistypedNames(env: Readonly<Record<string, string | undefined>>): readonly MistypedName[] {
  const known = [...Object.values(SETTINGS).map(({ name }) => name), ...SECRET_SETTINGS.map(fileVariable)];
  const mistyped: MistypedName[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!text?.trim() || !PLAIN_NAME.test(name) || known.includes(name)) continue;
    const meant = known.find(
      (setting) => lettersOf(setting) === lettersOf(name) || isOneTypo(name.toUpperCase(), setting),
    );
    if (meant !== undefined || FORMER_SETTINGS.includes(name)) mistyped.push({ name, meant });
  }
  return mistyped;
}

/** The warning for the operator. */
export function mistypedText({ name, meant }: MistypedName): string {
  if (meant === undefined) return `${name} is no longer a setting, and is not read.`;
  return `${name} is not a setting, and is not read. Did you mean ${meant}?`;
}

function lettersOf(name: string): string {
  return name.toUpperCase().replace(/[_.-]/g, '');
}
