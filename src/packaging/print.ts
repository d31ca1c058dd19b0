/** Writes the files that are printed from the code: `npm run schema`. A test fails if a committed one differs. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { PRINTED_FILES } from './printed-files.js';

for (const [path, print] of Object.entries(PRINTED_FILES)) {
  const file = new URL(`../../${path}`, import.meta.url);
  mkdirSync(new URL('.', file), { recursive: true });
  writeFileSync(file, print());
}
