/*
 * Keys of chains, as clients write them. Upstreams write them in lower case; a client may not. An exact key always
 * comes first, so that an upstream's keys that differ only in letter case stay apart.
 */

/** The keys of maps by their lower case. The maps are never changed, so this is made once for each. */
const foldedKeys = new WeakMap<ReadonlyMap<string, unknown>, ReadonlyMap<string, string>>();

/** The key in the map that equals this one; failing that, the first that differs from it only in letter case. */
export function listedKey(listed: ReadonlyMap<string, unknown>, chainKey: string): string | undefined {
  if (listed.has(chainKey)) return chainKey;
  let folded = foldedKeys.get(listed);
  if (!folded) {
    // In reverse, so that of keys that differ only in letter case the first one stays.
    folded = new Map([...listed.keys()].reverse().map((key) => [key.toLowerCase(), key]));
    foldedKeys.set(listed, folded);
  }
  return folded.get(chainKey.toLowerCase());
}

/** The value of a chain in a map by `chainKey` that is never changed; see {@link listedKey}. */
export function byChainKey<Value>(listed: ReadonlyMap<string, Value>, chainKey: string): Value | undefined {
  const key = listedKey(listed, chainKey);
  return key === undefined ? undefined : listed.get(key);
}

/** Whether two keys are equal but for letter case. */
export function isSameChainKey(one: string, other: string): boolean {
  return one === other || one.toLowerCase() === other.toLowerCase();
}
