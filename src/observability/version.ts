/** The version of the gateway, and the commit that was built. */
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

export const VERSION = (require('../../package.json') as { readonly version: string }).version;

/** The hash of the commit that was built. `unknown` if the build had neither git nor REVISION. */
export const REVISION = readRevision();

function readRevision(): string {
  try {
    return require('../../dist/revision.json') as string;
  } catch {
    return 'unknown';
  }
}
