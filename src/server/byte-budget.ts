/** Bounds the memory that buffers of all clients take together. */
import { clientWithMost } from '../scheduling/fair-queue.js';

/** Returns reserved bytes. Further calls do nothing. */
export type Release = () => void;

/** A connection with its reservations. Call all `releases` at its end. */
export interface Holder {
  readonly client: string;
  readonly releases: Set<Release>;
}

/** The bytes of reserved buffers. A buffer with several reservations counts once. */
class Holdings {
  bytes = 0;
  /** Each evicts a reservation. The oldest is the first. */
  readonly evictions = new Set<() => void>();
  readonly #uses = new Map<object, number>();

  change(buffer: object, bytes: number, by: 1 | -1): void {
    const before = this.#uses.get(buffer) ?? 0;
    const uses = before + by;
    if (uses === 0) this.#uses.delete(buffer);
    else this.#uses.set(buffer, uses);
    if (before === 0 || uses === 0) this.bytes += by * bytes;
  }
}

export type ByteBudget = ReturnType<typeof createByteBudget>;

/** The bound must be several times as large as the largest buffer: otherwise large buffers would evict each other. */
export function createByteBudget(maxBytes: number) {
  const all = new Holdings();
  const byClient = new Map<string, Holdings>();

  return {
    /**
     * If the budget is exceeded, the client with the most bytes loses its oldest reservation: it harms only itself.
     *
     * @param onEvict called at most once, when the reservation is evicted; its bytes are already returned then
     */
    reserve({ client, releases }: Holder, buffer: object, bytes: number, onEvict: () => void): Release {
      const own = byClient.get(client) ?? new Holdings();
      const change = (by: 1 | -1) => {
        for (const holdings of [all, own]) holdings.change(buffer, bytes, by);
      };
      const release = () => {
        if (!releases.delete(release)) return;
        own.evictions.delete(evict);
        change(-1);
        if (own.evictions.size === 0) byClient.delete(client);
      };
      const evict = () => {
        release();
        onEvict();
      };
      byClient.set(client, own);
      own.evictions.add(evict);
      releases.add(release);
      change(1);
      while (all.bytes > maxBytes) {
        const [, most] = clientWithMost(byClient, (holdings) => holdings.bytes) ?? [];
        const [evictOldest] = most?.evictions ?? [];
        if (!evictOldest) break;
        evictOldest();
      }
      return release;
    },
    get bytes() {
      return all.bytes;
    },
  };
}
