/* Loads the package of the Model Context Protocol. */
import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';

/** The package of the protocol. */
export type Protocol = typeof import('@modelcontextprotocol/server');

const require = createRequire(import.meta.url);
const PACKAGE = require.resolve('@modelcontextprotocol/server');

/**
 * Loads the package. It takes 10 MB, and most processes never need it. `require` opens one file after another, while
 * import() would open a hundred at once. If no file handle is free, this throws before it calls `require`: Node would
 * remember the failure and never load the package. So it can be called again.
 */
export function loadProtocol(): Protocol {
  closeSync(openSync(PACKAGE, 'r'));
  return require(PACKAGE) as Protocol;
}
