import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const RECIPES = new URL('recipes/', import.meta.url);
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

it.each(readdirSync(RECIPES))(
  'the README gives %s as the tests of larger graphs run it, in few lines',
  (name) => {
    const recipe = readFileSync(new URL(name, RECIPES), 'utf8');
    expect(readme).toContain(`\`\`\`${name.endsWith('.yaml') ? 'yaml' : 'js'}\n${recipe}\`\`\`\n`);
    expect(recipe.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
  },
);
