/**
 * The client that takes most of what is short, to be refused first: one that takes too much then only harms itself.
 *
 * @param amountOf how much a client takes
 */
export function clientWithMost<Client, Held>(
  heldBy: ReadonlyMap<Client, Held>,
  amountOf: (held: Held) => number,
): readonly [client: Client, held: Held] | undefined {
  let most: readonly [Client, Held] | undefined;
  for (const entry of heldBy) if (!most || amountOf(entry[1]) > amountOf(most[1])) most = entry;
  return most;
}
