/** Memoizes a function of an object. Each result is freed with its object. */
export function memoized<Key extends object, Result extends NonNullable<unknown>>(
  make: (key: Key) => Result,
): (key: Key) => Result {
  const results = new WeakMap<Key, Result>();
  return (key) => {
    const known = results.get(key);
    if (known !== undefined) return known;
    const result = make(key);
    results.set(key, result);
    return result;
  };
}
