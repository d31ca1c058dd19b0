/** Bytes that are in memory for one client until they are released. */
export interface Hold {
  /** Changes how many bytes the buffer has; only where no other hold has the same buffer. */
  resize(bytes: number): void;
  /** Gives the bytes back; further calls do nothing. */
  release(): void;
}

/** Bounds the bytes that all clients together keep in memory. */
export interface ByteBudget {
  /**
   * Counts the bytes of a buffer. A buffer that is held several times is counted once.
   *
   * While the budget is exceeded, the client that holds most loses its oldest hold. So a client that fills the
   * budget hurts itself.
   *
   * @param client whose bytes these are, such as the address of a connection
   * @param buffer what is held: the same object for the same bytes
   * @param cut called at most once, when the hold is taken away; it has been released by then
   */
  hold(client: string, buffer: object, bytes: number, cut: () => void): Hold;
  /** The bytes that are held now. */
  readonly bytes: number;
}

/** So many buffers as large as the largest one always fit: two clients with large ones do not evict each other. */
const LARGEST_ALWAYS_FIT = 3;

interface Held {
  readonly client: string;
  readonly buffer: object;
  readonly cut: () => void;
  bytes: number;
}

/** What one client holds. */
interface Holder {
  /** The oldest first. */
  readonly holds: Set<Held>;
  /** How many of the holds have this buffer. */
  readonly buffers: Map<object, number>;
  /** Of distinct buffers. */
  bytes: number;
}

/** Makes a budget of so many bytes. */
export function createByteBudget(maxBytes: number): ByteBudget {
  const holders = new Map<string, Holder>();
  const buffers = new Map<object, number>();
  let total = 0;
  let count = 0;
  let largest = 0;

  function add(held: Held): void {
    const { client, buffer, bytes } = held;
    const holder = holders.get(client) ?? { holds: new Set(), buffers: new Map(), bytes: 0 };
    holders.set(client, holder);
    holder.holds.add(held);
    if (increment(holder.buffers, buffer)) holder.bytes += bytes;
    if (increment(buffers, buffer)) total += bytes;
    count++;
  }

  function remove(held: Held): void {
    const { client, buffer, bytes } = held;
    const holder = holders.get(client);
    if (!holder?.holds.delete(held)) return;
    if (decrement(holder.buffers, buffer)) holder.bytes -= bytes;
    if (decrement(buffers, buffer)) total -= bytes;
    if (holder.holds.size === 0) holders.delete(client);
    count--;
  }

  function resize(held: Held, bytes: number): void {
    const holder = holders.get(held.client);
    if (!holder?.holds.has(held)) return;
    holder.bytes += bytes - held.bytes;
    total += bytes - held.bytes;
    held.bytes = bytes;
  }

  function enforce(newest: number): void {
    largest = Math.max(largest, newest);
    while (total > Math.max(maxBytes, LARGEST_ALWAYS_FIT * largest) && count > 1) {
      let most: Holder | undefined;
      for (const holder of holders.values()) if (!most || holder.bytes > most.bytes) most = holder;
      const [oldest] = most?.holds ?? [];
      if (!oldest) return;
      remove(oldest);
      oldest.cut();
    }
  }

  return {
    hold(client, buffer, bytes, cut) {
      const held: Held = { client, buffer, bytes, cut };
      add(held);
      enforce(bytes);
      return {
        resize(changed) {
          resize(held, changed);
          enforce(changed);
        },
        release: () => remove(held),
      };
    },
    get bytes() {
      return total;
    },
  };
}

/** Whether it is the first. */
function increment(counts: Map<object, number>, key: object): boolean {
  const before = counts.get(key) ?? 0;
  counts.set(key, before + 1);
  return before === 0;
}

/** Whether it was the last. */
function decrement(counts: Map<object, number>, key: object): boolean {
  const before = counts.get(key) ?? 0;
  if (before > 1) counts.set(key, before - 1);
  else counts.delete(key);
  return before === 1;
}
