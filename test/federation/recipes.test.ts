/** The recipes for routers in the README are the files that the tests run. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { blockOf } from '../support/readme.js';

const RECIPES = new URL('recipes/', import.meta.url);
const README = 'src/graph/federation/README.md';

describe(`the recipes in ${README}`, () => {
  it.each(readdirSync(RECIPES))(
    '%s in the README is the file that the tests run, in at most 20 lines',
    (name) => {
      const recipe = readFileSync(new URL(name, RECIPES), 'utf8');
      const copyIt = `Copy test/federation/recipes/${name} into ${README}, below <!-- test: ${name} -->.`;
      expect(blockOf(README, name), copyIt).toBe(recipe);
      expect(recipe.trimEnd().split('\n').length).toBeLessThanOrEqual(20);
    },
  );
});
