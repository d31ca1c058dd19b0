import type { RouteClient, RouteClients } from './listing.js';

/** {@link RouteClients} for those who put clients in. */
export interface RouteClientGroup extends RouteClients {
  /**
   * Lets a client wait for the answer. Its place in the queue is its own: to join a client with many questions
   * delays nobody.
   *
   * @throws by rejection: what the answer rejects with, or what this client is refused with before
   */
  join<Answer>(client: string | undefined, answer: Promise<Answer>): Promise<Answer>;
}

/** Makes an empty group. */
export function createRouteClients(isListed: boolean): RouteClientGroup {
  const waiting = new Map<string | undefined, RouteClient & { readonly refused: Promise<never> }>();
  const listeners = new Set<(client: RouteClient) => void>();

  function enter(client: string | undefined): Promise<never> {
    const known = waiting.get(client);
    if (known) return known.refused;
    let reject: (error: Error) => void = () => {};
    const refused = new Promise<never>((_resolve, rejected) => {
      reject = rejected;
    });
    // Most often nobody is refused, and sometimes nobody waits any more.
    refused.catch(() => {});
    const entered = {
      client,
      refused,
      refuse(error: Error) {
        waiting.delete(client);
        reject(error);
      },
    };
    waiting.set(client, entered);
    for (const listener of listeners) listener(entered);
    return refused;
  }

  return {
    isListed,
    watch(listener) {
      listeners.add(listener);
      for (const client of waiting.values()) listener(client);
      return () => listeners.delete(listener);
    },
    join: (client, answer) => Promise.race([answer, enter(client)]),
  };
}
