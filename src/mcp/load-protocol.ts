import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';

/** The package of the protocol. */
export type Protocol = typeof import('@modelcontextprotocol/server');

const require = createRequire(import.meta.url);
const PACKAGE = require.resolve('@modelcontextprotocol/server');

/**
 * Loads the package, which takes 10 MB, and which most processes never need. It reads one file after the other, unlike
 * import(), which opens a hundred at once. If no file handle is free, this throws before `require` does, because Node
 * would remember the failure and never load the package again. So it may be called again.
 */
export function loadProtocol(): Protocol {
  closeSync(openSync(PACKAGE, 'r'));
  return require(PACKAGE) as Protocol;
}
