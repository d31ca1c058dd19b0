import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

/** What the README shows of each client, in its order; each file is run by the test of its client. */
const RECIPES = [
  'recipes/fetch.ts',
  'recipes/apollo.ts',
  'recipes/urql.ts',
  'projects/relay/relay.config.json',
  'projects/relay/src/TokenPicker.ts',
  'projects/codegen/codegen.json',
  'projects/tada/tada.json',
  'projects/tada/src/graphql.ts',
];

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

describe('the recipes of the README', () => {
  const [, section = ''] = /^## Clients\n(.*?)(?=^## )/ms.exec(`${read('../../README.md')}\n## `) ?? [];
  const blocks = [...section.matchAll(/^```\w+\n(.*?)^```$/gms)].map(([, text]) => text);

  it('are those that the tests run, to the letter', () => {
    expect(blocks).toEqual(RECIPES.map(read));
  });

  it('have at most 15 lines each', () => {
    for (const recipe of RECIPES)
      expect(read(recipe).trim().split('\n').length, recipe).toBeLessThanOrEqual(15);
  });
});
