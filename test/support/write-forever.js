// Writes one listing into a directory again and again, until it is killed.
// node write-forever.js <dist> <directory> <rows>
import { pathToFileURL } from 'node:url';

const [, , dist, directory, count] = process.argv;
const load = (name) => import(pathToFileURL(`${dist}/${name}.js`).href);
const [{ openDiskStore }, { TOKENS }] = await Promise.all([
  load('storage/disk'),
  load('upstream/listing-kinds'),
]);
const log = { warn: (facts) => process.stderr.write(`${JSON.stringify(facts)}\n`), info() {}, debug() {} };
const store = await openDiskStore(directory, { v1: 'mark' }, log);

for (let turn = 0; ; turn++) {
  const rows = Array.from({ length: Number(count) }, (_, index) => ({
    isBridgeable: true,
    chainKey: 'a',
    address: `0x${index.toString(16)}`,
    decimals: 6,
    symbol: `T${index}`,
    // Every row has the number of its listing: a mixture of two listings would be visible.
    name: `turn ${turn}`,
    price: null,
    logoUrl: null,
  }));
  await store.write(TOKENS, { rows, rejected: { count: 0, first: [] }, source: 'v1', takenAt: Date.now() });
  process.stdout.write('.');
}
