/**
 * The most rows that one answer of the upstream may have, over all of its pages. It is a hundred times what
 * the services list, and bounds the memory and the time that an answer can cost.
 */
export const MAX_ROWS = 200_000;

/** How long the texts of a row may be, in UTF-16 code units. A row with a longer one is rejected. */
export const MAX_LENGTHS = { chainKey: 256, chainType: 64, address: 512, symbol: 256, name: 1024 } as const;
