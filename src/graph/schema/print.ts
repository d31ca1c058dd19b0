/** Writes `schema.graphql`. */
import { writeFileSync } from 'node:fs';
import { schema, sdlOf } from './index.js';

// Part of `npm run schema`. A test fails if the file and the code differ.
writeFileSync(new URL('../../../schema.graphql', import.meta.url), sdlOf(schema));
