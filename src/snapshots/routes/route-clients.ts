import type { RouteClient } from '../../domain/listing.js';

export type RouteClientGroup = ReturnType<typeof createRouteClients>;

/** Makes the clients that share one request, which others can join. */
export function createRouteClients(isListed: boolean) {
  const waiting = new Map<string | undefined, RouteClient & { readonly refused: Promise<never> }>();
  const listeners: ((client: RouteClient) => void)[] = [];

  function enter(client: string | undefined): Promise<never> {
    const known = waiting.get(client);
    if (known) return known.refused;
    let refuse: (error: Error) => void = () => {};
    const refused = new Promise<never>((_resolve, reject) => {
      refuse = (error) => {
        waiting.delete(client);
        reject(error);
      };
    });
    // The client may have its answer before it is refused: that must not be an unhandled rejection.
    refused.catch(() => {});
    const entered = { client, refused, refuse };
    waiting.set(client, entered);
    for (const listener of listeners) listener(entered);
    return refused;
  }

  return {
    isListed,
    /** Calls the listener with each client that waits, and with each client that joins later. */
    watch(listener: (client: RouteClient) => void): void {
      listeners.push(listener);
      for (const client of waiting.values()) listener(client);
    },
    /**
     * Lets a client wait for the answer, in its own place in the queue: a client that joins one with many requests is
     * not delayed by them.
     *
     * @throws by rejection the error of the answer, or the error with which this client is refused before
     */
    join: <Answer>(client: string | undefined, answer: Promise<Answer>): Promise<Answer> =>
      Promise.race([answer, enter(client)]),
  };
}
