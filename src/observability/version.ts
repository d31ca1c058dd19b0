/** The package, its version, and the commit that was built. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const PACKAGE = require('../../package.json') as Record<'name' | 'description' | 'version', string>;

export const VERSION = PACKAGE.version;

/** The hash of the commit that was built. `unknown` if the build had neither git nor REVISION. */
export const REVISION = readRevision();

function readRevision(): string {
  try {
    return require('../../dist/revision.json') as string;
  } catch {
    return 'unknown';
  }
}
