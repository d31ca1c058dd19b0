import { createRequire } from 'node:module';

const { version } = createRequire(import.meta.url)('../../package.json') as { readonly version: string };

/** The version of the gateway, as package.json has it. */
export const VERSION = version;
