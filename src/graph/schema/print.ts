import { writeFileSync } from 'node:fs';
import { schema } from './index.js';
import { sdlOf } from './sdl.js';

// `npm run schema`; a test compares the file with what the code prints.
writeFileSync(new URL('../../../schema.graphql', import.meta.url), sdlOf(schema));
