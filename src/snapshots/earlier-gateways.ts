/** Reads the values that earlier gateways have accepted, from disk and Redis: a first listing is compared with them. */
import type { Fetched } from '../domain/listing.js';
import type { Logger } from '../logger/logger.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import { withKnownFacts } from './known-rows.js';
import type { DiskStore, Peers } from './stores.js';

/** Creates the reader of the stored listings of one kind. */
export function createEarlierGateways<Row>(
  kind: ListingKind<Row>,
  {
    peers,
    disk,
    log,
  }: { readonly peers: Peers; readonly disk?: DiskStore | undefined; readonly log: Logger },
) {
  const { name } = kind;
  let mustAskAgain = false;
  /** The last accepted rows of other upstreams, by key, until the first listing is served. */
  let rows: ReadonlyMap<string, Row> | undefined;

  /**
   * Reads the listings on disk and in Redis that must not be served, such as those of another upstream. The guard
   * compares new rows with them. `isWhole` is false if the peers cannot be asked now.
   */
  async function readOthers() {
    const ofPeers = await peers.readOthers(name, kind);
    const others = [...((await disk?.readOthers(kind)) ?? []), ...(ofPeers ?? [])];
    return { others, isWhole: ofPeers !== undefined };
  }

  return {
    /**
     * True if peers could not be asked, so the listing is not compared yet with the values that they have accepted. Until
     * then it is not shared, because it would replace those values.
     */
    get mustAskAgain() {
      return mustAskAgain;
    },
    /** Reads, once, the rows that {@link row} finds. */
    async readRows(): Promise<void> {
      if (rows) return;
      const known = withKnownFacts(kind, undefined, (await readOthers()).others);
      rows = new Map(known?.guard?.gone.map(({ row }) => [kind.keyOf(row), row]));
    },
    /** The row that was last accepted at another upstream. */
    row: (key: string) => rows?.get(key),
    /** Ends the use of {@link row}: the memory of the first guarded listing has the rows. */
    forgetRows(): void {
      rows = undefined;
    },
    /**
     * Collects the accepted values as one listing. It has the rows and the memory of `own`, a listing from disk or of a
     * peer, or else those of the newest listing of a peer, and the values of other stored listings. Undefined if there
     * are none, or if peers could not be asked last time and cannot be asked now.
     */
    async listing(own: Fetched<Row> | undefined): Promise<Fetched<Row> | undefined> {
      const continued = own ?? (await peers.newest(name, kind, 0));
      const { others, isWhole } = await readOthers();
      if (mustAskAgain && !isWhole) return undefined;
      mustAskAgain = !own && !isWhole;
      const known = withKnownFacts(kind, continued, others);
      // Stored demo data leaves no rows here, only a history: then nothing is compared.
      if (known && known !== own && (known.rows.length > 0 || known.guard?.gone.length)) {
        const text = `The first ${name} listing is compared with what earlier gateways have served`;
        log.info({ listing: name }, text);
      }
      return known;
    },
  };
}
