import type { Fetched } from '../domain/listing.js';
import type { ListingKind } from '../upstream/listing-kinds.js';

/** Where the last good listings outlive the process. Nothing rejects: failures are logged. */
export interface DiskStore {
  /** The newest of the listings that were written, or undefined where there is none that may be served. */
  read<Row>(kind: ListingKind<Row>): Promise<Fetched<Row> | undefined>;
  /** Replaces the last listing of this kind; a reader gets either of them, and never a part. */
  write<Row>(kind: ListingKind<Row>, taken: Fetched<Row>): Promise<void>;
  /** Resolves when nothing is left to be written. */
  settled(): Promise<void>;
}
