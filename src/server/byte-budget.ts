/** Bytes that one client takes of a budget. */
export interface Reservation {
  /** Changes its size after its buffer was replaced; only for a buffer that no other reservation shares. */
  resize(bytes: number): void;
  /** Returns the bytes. Further calls do nothing. */
  release(): void;
}

/** Bounds how many bytes all clients together keep in memory. */
export interface ByteBudget {
  /**
   * Counts the bytes of a buffer. A buffer with several reservations is counted once.
   *
   * When the budget is exceeded, the client with the most bytes loses its oldest reservation. So a client that
   * fills the budget only harms itself.
   *
   * @param client for example the address of a connection
   * @param buffer the identity of the bytes: the same object for the same bytes
   * @param onEvict called at most once, when the reservation is taken away; it is already released then
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

/** The reservations of one client. */
interface Holder {
  /** The oldest first. */
  readonly entries: Set<Entry>;
  /** How many of the entries have this buffer. */
  readonly buffers: Map<object, number>;
  /** Of distinct buffers. */
  bytes: number;
}

export function createByteBudget(maxBytes: number): ByteBudget {
  const holders = new Map<string, Holder>();
  /** How many entries have this buffer. */
  const buffers = new Map<object, number>();
  let total = 0;
  let largest = 0;

  function add(entry: Entry): void {
    const { client, buffer, bytes } = entry;
    const holder = holders.get(client) ?? { entries: new Set(), buffers: new Map(), bytes: 0 };
    holders.set(client, holder);
    holder.entries.add(entry);
    if (increment(holder.buffers, buffer)) holder.bytes += bytes;
    if (increment(buffers, buffer)) total += bytes;
  }

  function remove(entry: Entry): void {
    const { client, buffer, bytes } = entry;
    const holder = holders.get(client);
    if (!holder?.entries.delete(entry)) return;
    if (decrement(holder.buffers, buffer)) holder.bytes -= bytes;
    if (decrement(buffers, buffer)) total -= bytes;
    if (holder.entries.size === 0) holders.delete(client);
  }

  function resize(entry: Entry, bytes: number): void {
    const holder = holders.get(entry.client);
    if (!holder?.entries.has(entry)) return;
    holder.bytes += bytes - entry.bytes;
    total += bytes - entry.bytes;
    entry.bytes = bytes;
  }

  function enforce(newest: number): void {
    largest = Math.max(largest, newest);
    while (total > Math.max(maxBytes, LARGEST_ALWAYS_FIT * largest)) {
      let most: Holder | undefined;
      for (const holder of holders.values()) if (!most || holder.bytes > most.bytes) most = holder;
      const [oldest] = most?.entries ?? [];
      if (!oldest) return;
      remove(oldest);
      oldest.onEvict();
    }
  }

  return {
    reserve(client, buffer, bytes, onEvict) {
      const entry: Entry = { client, buffer, bytes, onEvict };
      add(entry);
      enforce(bytes);
      return {
        resize(changed) {
          resize(entry, changed);
          enforce(changed);
        },
        release: () => remove(entry),
      };
    },
    get bytes() {
      return total;
    },
  };
}

/** Returns true for the first. */
function increment(counts: Map<object, number>, key: object): boolean {
  const before = counts.get(key) ?? 0;
  counts.set(key, before + 1);
  return before === 0;
}

/** Returns true for the last. */
function decrement(counts: Map<object, number>, key: object): boolean {
  const before = counts.get(key) ?? 0;
  if (before > 1) counts.set(key, before - 1);
  else counts.delete(key);
  return before === 1;
}
