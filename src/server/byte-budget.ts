/** Bounds the memory that buffers of all clients take together. */
import { clientWithMost } from '../scheduling/fair-queue.js';

/** Returns reserved bytes. Further calls do nothing. */
export type Release = () => void;

interface Reservation {
  readonly client: string;
  readonly buffer: object;
  readonly bytes: number;
  readonly onEvict: () => void;
}

/** A set of reservations, the oldest first, and the bytes of their buffers. A buffer counts once. */
class Holdings {
  bytes = 0;
  readonly reservations = new Set<Reservation>();
  readonly #uses = new Map<object, number>();

  add(reservation: Reservation): void {
    const { buffer, bytes } = reservation;
    const uses = this.#uses.get(buffer) ?? 0;
    if (uses === 0) this.bytes += bytes;
    this.#uses.set(buffer, uses + 1);
    this.reservations.add(reservation);
  }

  remove(reservation: Reservation): boolean {
    if (!this.reservations.delete(reservation)) return false;
    const { buffer, bytes } = reservation;
    const uses = this.#uses.get(buffer) ?? 0;
    if (uses > 1) this.#uses.set(buffer, uses - 1);
    else if (this.#uses.delete(buffer)) this.bytes -= bytes;
    return true;
  }
}

export type ByteBudget = ReturnType<typeof createByteBudget>;

/** The bound must be several times as large as the largest buffer: otherwise large buffers would evict each other. */
export function createByteBudget(maxBytes: number) {
  const all = new Holdings();
  const byClient = new Map<string, Holdings>();

  function remove(reservation: Reservation): void {
    if (!all.remove(reservation)) return;
    const ofClient = byClient.get(reservation.client);
    ofClient?.remove(reservation);
    if (ofClient?.reservations.size === 0) byClient.delete(reservation.client);
  }

  return {
    /**
     * If the budget is exceeded, the client with the most bytes loses its oldest reservation: it harms only itself. A
     * buffer with several reservations counts once.
     *
     * @param onEvict called at most once, when the reservation is evicted; its bytes are already returned then
     */
    reserve(client: string, buffer: object, bytes: number, onEvict: () => void): Release {
      const reservation = { client, buffer, bytes, onEvict };
      const ofClient = byClient.get(client) ?? new Holdings();
      byClient.set(client, ofClient);
      ofClient.add(reservation);
      all.add(reservation);
      while (all.bytes > maxBytes) {
        const [, most] = clientWithMost(byClient, (holdings) => holdings.bytes) ?? [];
        const [oldest] = most?.reservations ?? [];
        if (!oldest) break;
        remove(oldest);
        oldest.onEvict();
      }
      return () => remove(reservation);
    },
    get bytes() {
      return all.bytes;
    },
  };
}
