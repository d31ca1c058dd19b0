import { writeFileSync } from 'node:fs';
import { schema } from './index.js';
import { sdlOf } from './sdl.js';

// Part of `npm run schema`. A test fails if the file and the code differ.
writeFileSync(new URL('../../../schema.graphql', import.meta.url), sdlOf(schema));
