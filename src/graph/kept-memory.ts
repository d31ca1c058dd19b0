/** Bounds the memory that operations keep while they wait for the upstream. */
import { GatewayError } from '../domain/errors.js';

export interface WaitingOperation {
  readonly client: string | undefined;
  /** Estimates the bytes that the operation keeps now: its request, and the fields and rows that it has found. */
  keptBytes(): number;
}

/**
 * While the waiting operations keep more than this, no further one that keeps much may wait. One operation keeps at most
 * about 25 MB, for the 250,000 units of MAX_COST.
 */
const MAX_BYTES = 32 * 2 ** 20;
const MAX_BYTES_OF_CLIENT = MAX_BYTES / 4;
/** Any operation may keep this much. */
const FREE_BYTES = 32_768;
/** The operations of one client may always keep this much: two usual operations of the picker. */
const FREE_BYTES_OF_CLIENT = 131_072;

export class KeptMemory {
  /** Each operation with the number of answers that it waits for. */
  private readonly waiting = new Map<WaitingOperation, number>();

  /** Call it before a wait. @throws GatewayError OVERLOADED if the operation must not wait, because it keeps too much */
  enter(operation: WaitingOperation): void {
    if (operation.keptBytes() > FREE_BYTES) this.assertRoom(operation);
    this.waiting.set(operation, (this.waiting.get(operation) ?? 0) + 1);
  }

  leave(operation: WaitingOperation): void {
    const waits = (this.waiting.get(operation) ?? 1) - 1;
    if (waits > 0) this.waiting.set(operation, waits);
    else this.waiting.delete(operation);
  }

  private assertRoom(operation: WaitingOperation): void {
    let own = 0;
    let all = 0;
    for (const other of this.waiting.keys()) {
      const bytes = other === operation ? 0 : other.keptBytes();
      all += bytes;
      if (other.client === operation.client) own += bytes;
    }
    const isByClient = own > MAX_BYTES_OF_CLIENT;
    const isUsual = own + operation.keptBytes() <= FREE_BYTES_OF_CLIENT;
    if (isUsual || (!isByClient && all <= MAX_BYTES)) return;
    const message =
      'Too many large operations wait for the upstream. Ask for this part again in a few seconds, or in an operation without long lists.';
    throw new GatewayError('OVERLOADED', message, { isByClient });
  }
}
