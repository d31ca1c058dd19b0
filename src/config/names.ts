import { SETTINGS } from '../config.js';
import { isOneSlip } from '../domain/fold-text.js';
import { fileVariable, SECRET_SETTINGS } from './secret-files.js';

/** A variable of the environment whose name resembles that of a setting. */
export interface MistypedName {
  readonly name: string;
  /** The setting that may be meant. */
  readonly meant: string;
}

/** Variables with other names are not shown: they can contain anything. */
const PLAIN_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/**
 * The variables that no setting has as its name, and that differ from a setting by one slip, by letter case or by what
 * is between the words. They are not read; what is set there is not looked at, as it can be a secret.
 */
export function mistypedNames(env: Readonly<Record<string, string | undefined>>): readonly MistypedName[] {
  const known = [...Object.values(SETTINGS).map(({ name }) => name), ...SECRET_SETTINGS.map(fileVariable)];
  const mistyped: MistypedName[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!text?.trim() || !PLAIN_NAME.test(name) || known.includes(name)) continue;
    const meant = known.find(
      (setting) => lettersOf(setting) === lettersOf(name) || isOneSlip(name.toUpperCase(), setting),
    );
    if (meant !== undefined) mistyped.push({ name, meant });
  }
  return mistyped;
}

/** The sentence for a person. */
export function mistypedText({ name, meant }: MistypedName): string {
  return `${name} is not a setting, and is not read. Did you mean ${meant}?`;
}

function lettersOf(name: string): string {
  return name.toUpperCase().replace(/[_.-]/g, '');
}
