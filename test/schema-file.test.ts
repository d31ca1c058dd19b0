import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { schema, sdlOf } from '../src/graph/schema/index.js';

it('schema.graphql is what the code prints', () => {
  const file = readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8');
  // In this order the difference shows what the code adds as received ("+").
  expect(
    sdlOf(schema),
    'The code prints another schema than schema.graphql. If that is intended, run `npm run schema` and commit the file.',
  ).toBe(file);
});
