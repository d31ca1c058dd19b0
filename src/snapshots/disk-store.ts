import type { Fetched } from '../domain/listing.js';
import type { StoredKind } from '../upstream/listing-kinds.js';

/** Where the last good listings outlive the process. Nothing rejects: failures are logged. */
export interface DiskStore {
  /** The newest listing on disk that may be served; undefined if there is none. */
  read<Row>(kind: StoredKind<Row>): Promise<Fetched<Row> | undefined>;
  /** Listings of other services that were kept here: not to be served, but their facts are known. The newest few. */
  readOthers<Row>(kind: StoredKind<Row>): Promise<readonly Fetched<Row>[]>;
  /** Replaces the last listing of this kind. The replacement is atomic: a reader never gets a part. */
  write<Row>(kind: StoredKind<Row>, fetched: Fetched<Row>): Promise<void>;
  /** Resolves when all writes are done. */
  settled(): Promise<void>;
}
