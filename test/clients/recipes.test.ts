/** The recipes in the READMEs are the files that the tests of the clients run. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { blockOf } from '../support/readme.js';

/** The recipe files, each with the README that shows it. The tests of the clients run these files. */
const RECIPES: Readonly<Record<string, string>> = {
  'recipes/fetch.ts': 'README.md',
  'recipes/apollo.ts': 'README.md',
  'recipes/urql.ts': 'test/clients/README.md',
  'projects/relay/relay.config.json': 'test/clients/README.md',
  'projects/relay/src/TokenPicker.ts': 'test/clients/README.md',
  'projects/codegen/codegen.json': 'test/clients/README.md',
  'projects/tada/tada.json': 'test/clients/README.md',
  'projects/tada/src/graphql.ts': 'test/clients/README.md',
};

it.each(Object.entries(RECIPES))('%s is the same in %s, in at most 15 lines', (file, readme) => {
  const recipe = readFileSync(new URL(file, import.meta.url), 'utf8');
  const copyIt = `Copy test/clients/${file} into ${readme}, below <!-- test: ${file} -->.`;
  expect(blockOf(readme, file), copyIt).toBe(recipe);
  expect(recipe.trim().split('\n').length).toBeLessThanOrEqual(15);
});
