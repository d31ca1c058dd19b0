/** Makes a service whose rows are held back, without refreshes that contradict each other. */
import type { Fetched, HeldBackFact, ListingRows, Service } from '../../src/domain/listing.js';

export type HeldBackRows = Readonly<Record<string, readonly HeldBackFact[]>>;

/** Wraps an upstream service so that these rows are held back. They then have no price. */
export const withHeldBack =
  (ofRows: HeldBackRows) =>
  (service: Service): Service => {
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
      ...service,
      get source() {
        return service.source;
      },
      fetch: async (name) =>
        mark<ListingRows[typeof name]>(await service.fetch(name), (row) =>
          'symbol' in row ? row.symbol : row.chainKey,
        ),
      routes: async (...asked) => mark(await service.routes(...asked), ({ symbol }) => symbol),
    };
  };
