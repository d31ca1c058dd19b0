import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { schema } from '../src/graph/schema/index.js';
import { sdlOf } from '../src/graph/schema/sdl.js';

it('schema.graphql is what the code prints; `npm run schema` writes it', () => {
  expect(readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8')).toBe(sdlOf(schema));
});
