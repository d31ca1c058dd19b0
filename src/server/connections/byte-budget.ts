import { clientWithMost } from '../../scheduling/client-with-most.js';

/** Bytes that one client takes of a budget. */
export interface Reservation {
  /** Changes its size after its buffer was replaced; only for a buffer that no other reservation shares. */
  resize(bytes: number): void;
  /** Returns the bytes. Further calls do nothing. */
  release(): void;
}

/** Bounds how many bytes all clients together take in memory. */
export interface ByteBudget {
  /**
   * Counts the bytes of a buffer. A buffer with several reservations is counted once.
   *
   * When the budget is exceeded, the client with the most bytes loses its oldest reservation. So a client that
   * fills the budget only harms itself.
   *
   * @param client for example the address of a connection
   * @param buffer the identity of the bytes: the same object for the same bytes
   * @param onEvict called at most once, when the reservation is evicted; it is already released then
   */
  reserve(client: string, buffer: object, bytes: number, onEvict: () => void): Reservation;
  /** The bytes that are reserved now. */
  readonly bytes: number;
}

/** Three of the largest buffers seen always fit, so that two clients with large ones do not evict each other. */
const LARGEST_ALWAYS_FIT = 3;

interface Entry {
  readonly client: string;
  readonly buffer: object;
  readonly onEvict: () => void;
  bytes: number;
}

/** Adds up the bytes of buffers; one that was added several times counts until it was removed as often. */
class Buffers {
  bytes = 0;
  readonly #uses = new Map<object, number>();

  add(buffer: object, bytes: number): void {
    const uses = this.#uses.get(buffer) ?? 0;
    if (uses === 0) this.bytes += bytes;
    this.#uses.set(buffer, uses + 1);
  }

  remove(buffer: object, bytes: number): void {
    const uses = this.#uses.get(buffer) ?? 0;
    if (uses > 1) this.#uses.set(buffer, uses - 1);
    else if (this.#uses.delete(buffer)) this.bytes -= bytes;
  }
}

/** The reservations of one client. */
interface Holder {
  /** The oldest first. */
  readonly entries: Set<Entry>;
  readonly buffers: Buffers;
}

export function createByteBudget(maxBytes: number): ByteBudget {
  const holders = new Map<string, Holder>();
  const all = new Buffers();
  let largest = 0;

  function remove(entry: Entry): void {
    const { client, buffer, bytes } = entry;
    const holder = holders.get(client);
    if (!holder?.entries.delete(entry)) return;
    holder.buffers.remove(buffer, bytes);
    all.remove(buffer, bytes);
    if (holder.entries.size === 0) holders.delete(client);
  }

  function enforce(newest: number): void {
    largest = Math.max(largest, newest);
    while (all.bytes > Math.max(maxBytes, LARGEST_ALWAYS_FIT * largest)) {
      const [, most] = clientWithMost(holders, ({ buffers }) => buffers.bytes) ?? [];
      const [oldest] = most?.entries ?? [];
      if (!oldest) return;
      remove(oldest);
      oldest.onEvict();
    }
  }

  return {
    reserve(client, buffer, bytes, onEvict) {
      const entry: Entry = { client, buffer, bytes, onEvict };
      const holder = holders.get(client) ?? { entries: new Set(), buffers: new Buffers() };
      holders.set(client, holder);
      holder.entries.add(entry);
      holder.buffers.add(buffer, bytes);
      all.add(buffer, bytes);
      enforce(bytes);
      return {
        resize(changed) {
          if (!holder.entries.has(entry)) return;
          holder.buffers.bytes += changed - entry.bytes;
          all.bytes += changed - entry.bytes;
          entry.bytes = changed;
          enforce(changed);
        },
        release: () => remove(entry),
      };
    },
    get bytes() {
      return all.bytes;
    },
  };
}
