/**
 * The most rows that an answer of the upstream may have, all pages together. It is a hundred times what the services
 * list, and bounds the memory and time that an answer costs.
 */
export const MAX_ROWS = 200_000;

/** The maximum length of a row's texts, in UTF-16 code units. A row with a longer text is rejected. */
export const MAX_LENGTHS = { chainKey: 256, chainType: 64, address: 512, symbol: 256, name: 1024 } as const;
