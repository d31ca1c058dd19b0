import type { Fetched, HeldBackFact, Listing } from '../../src/domain/listing.js';

/** Facts that are held back of the rows with these keys: `chainKey` of a chain, `symbol` of a token. */
export type HeldBackRows = Readonly<Record<string, readonly HeldBackFact[]>>;

/** Wraps the listing of an upstream, so that these of its rows are held back. They have no price then. */
export const withHeldBack =
  (ofRows: HeldBackRows) =>
  (listing: Listing): Listing => {
    function mark<Row extends object>(fetched: Fetched<Row>, keyOf: (row: Row) => string): Fetched<Row> {
      const rows = fetched.rows.map((row) => {
        const heldBack = ofRows[keyOf(row)];
        return heldBack
          ? Object.freeze({ ...row, ...('price' in row ? { price: null } : {}), heldBack })
          : row;
      });
      return { ...fetched, rows };
    }
    return {
      ...listing,
      get source() {
        return listing.source;
      },
      chains: async () => mark(await listing.chains(), ({ chainKey }) => chainKey),
      tokens: async (filter, clients) => mark(await listing.tokens(filter, clients), ({ symbol }) => symbol),
    };
  };
