/** Writes the guides that are printed from the code. Part of `npm run schema`. */
import { writeFileSync } from 'node:fs';
import { PRINTED_GUIDES } from './guides.js';

for (const [path, print] of Object.entries(PRINTED_GUIDES)) {
  writeFileSync(new URL(`../../${path}`, import.meta.url), print());
}
