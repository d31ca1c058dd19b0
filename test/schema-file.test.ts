import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { schema, sdlOf } from '../src/graph/schema/index.js';
import { PRINTED_GUIDES } from '../src/packaging/guides.js';

it('schema.graphql is equal to the schema that the code prints', () => {
  const file = readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8');
  // In this order the difference shows what the code adds as received ("+").
  expect(
    sdlOf(schema),
    'The code prints another schema than schema.graphql. If that is intended, run `npm run schema` and commit the file.',
  ).toBe(file);
});

it.each(Object.entries(PRINTED_GUIDES))('%s is equal to the guide that the code prints', (path, print) => {
  const file = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  expect(
    print(),
    `The code prints another ${path}. If that is intended, run \`npm run schema\` and commit the file.`,
  ).toBe(file);
});
