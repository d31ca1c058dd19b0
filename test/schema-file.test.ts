/** The committed schema files are those that the code prints. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PRINTED_FILES } from '../src/packaging/printed-files.js';

const committed = Object.entries(PRINTED_FILES).filter(([path]) => !path.startsWith('build/'));

it.each(committed)('%s is equal to the file that the code prints', (path, print) => {
  const file = readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
  // In this order, the printed difference marks with "+" what the code adds.
  expect(
    print(),
    `The code prints another ${path}. If that is intended, run \`npm run schema\` and commit the file.`,
  ).toBe(file);
});
