/** Part of `npm run schema`: writes `schema.graphql`. A test fails if the file and the code differ. */
import { writeFileSync } from 'node:fs';
import { schema, sdlOf } from './index.js';

writeFileSync(new URL('../../../schema.graphql', import.meta.url), sdlOf(schema));
