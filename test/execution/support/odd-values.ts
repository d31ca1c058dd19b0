const always = (value: unknown) => () => value;

/** Each makes a value that a resolver can return in place of its usual one: a new one, as a promise has a state. */
export const ODD_VALUES: readonly ((usual: unknown) => unknown)[] = [
  () => {
    throw new Error('thrown');
  },
  () => {
    throw null;
  },
  () => new Error('returned'),
  (usual) => Promise.resolve(usual),
  () => Promise.reject(new Error('rejected')),
  (usual) => ({
    // biome-ignore lint/suspicious/noThenProperty: an unusual promise.
    then: (resolve: (value: unknown) => void) => resolve(usual),
  }),
  () => () => 'called',
  ...[undefined, null, true, Number.NaN, Number.POSITIVE_INFINITY, -0, 1.5, 2 ** 31, 1e21, 10n].map(always),
  ...['12', 'a "quote"\\, \n\u0000\u001f\u2028\u007fé☃\u{1f41f}', 'lone \ud800', '__proto__'].map(always),
  () => Symbol('symbol'),
  () => ({}),
  () => Object.create(null) as object,
  () => ({ valueOf: () => 3 }),
  () => ({ toJSON: (key: string) => `at ${key}` }),
  () => new Date(0),
  () => ({
    get a(): never {
      throw new Error('getter');
    },
  }),
  (usual) => new Set([usual]),
  (usual) => [usual],
  (usual) => [usual, Promise.reject(new Error('item'))],
  // A hole counts as null.
  () => new Array(2),
  (usual) => Object.assign([usual], { *[Symbol.iterator]() {} }),
];
