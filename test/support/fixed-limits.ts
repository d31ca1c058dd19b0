/** Changes the fixed limits of a gateway process by environment variables. */
import { pathToFileURL } from 'node:url';

/** On busy machines operations wait long for their turns. */
const OF_TESTS = { maxWaitMs: 60_000 };

/**
 * The environment variable that changes the fixed limits of a process: it lets Node load a module that sets them. An
 * unknown name ends the process.
 *
 * @param root the folder of the built checkout
 */
export function fixedLimits(
  limits: Readonly<Record<string, number>> = {},
  root = process.cwd(),
): { readonly NODE_OPTIONS: string } {
  const config = JSON.stringify(pathToFileURL(`${root}/dist/config/config.js`).href);
  const values = JSON.stringify({ ...OF_TESTS, ...limits });
  const code = `import { FIXED_LIMITS } from ${config};
const values = ${values};
for (const name in values) if (!(name in FIXED_LIMITS)) throw new Error('There is no limit ' + name);
Object.assign(FIXED_LIMITS, values);`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

/** The environment variables of a process that has the fixed limits of production. */
export const LIMITS_OF_PRODUCTION = { NODE_OPTIONS: '' };
