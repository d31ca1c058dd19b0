/** Finds environment variables that look like misspelt or former settings. */
import { isOneTypo } from '../domain/fold-text.js';
import { FIXED_LIMITS, SECRET_SETTINGS, SETTING_NAMES, variableOf } from './config.js';
import { fileVariable } from './files.js';

/** Former settings, each with advice for the operator. All fixed limits count: many were settings. */
const FORMER_SETTINGS = new Map<string, string>([
  ...Object.entries(FIXED_LIMITS).map(
    ([key, value]) => [variableOf(key), `The value is always ${value}.`] as const,
  ),
  ['REDIS_SECRET', 'Protect Redis by a password and TLS.'],
  [
    'REQUIRE_UPSTREAM',
    'Without UPSTREAM_URL the process ends if DEMO=false, or if NODE_ENV=production and DEMO is unset.',
  ],
]);

/** Variables with other names are not reported: such names can contain anything. */
const PLAIN_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/** Warns about former and misspelt settings. Warnings do not contain the value, which can be a secret. */
export function nameWarnings(env: Readonly<Record<string, string | undefined>>) {
  const known = [...SETTING_NAMES, ...SECRET_SETTINGS.map(fileVariable)];
  const warnings: { readonly name: string; readonly message: string }[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!text?.trim() || !PLAIN_NAME.test(name) || known.includes(name)) continue;
    const now = FORMER_SETTINGS.get(name);
    const meant =
      known.find(
        (setting) => lettersOf(setting) === lettersOf(name) || isOneTypo(name.toUpperCase(), setting),
      ) ?? SETTING_NAMES.find((setting) => fileVariable(setting) === name);
    if (now) warnings.push({ name, message: `${name} is no longer a setting, and is not read. ${now}` });
    else if (meant)
      warnings.push({ name, message: `${name} is not a setting, and is not read. Did you mean ${meant}?` });
  }
  return warnings;
}

function lettersOf(name: string): string {
  return name.toUpperCase().replace(/[_.-]/g, '');
}
