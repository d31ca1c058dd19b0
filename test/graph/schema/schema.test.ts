/** Every type, field, argument and value of the schema has a description. */
import { introspectionFromSchema } from 'graphql';
import { expect, it } from 'vitest';
import { schema } from '../../../src/graph/schema/index.js';

/** All names of types, fields, arguments and values, with their descriptions. */
function* described(value: unknown): Generator<readonly [name: string, description: string]> {
  if (typeof value !== 'object' || value === null) return;
  const { name = '', description } = value as { name?: string; description?: string | null };
  if (description !== undefined) yield [name, description ?? ''];
  for (const member of Object.values(value)) yield* described(member);
}

it('the schema describes every type, field, argument and value in more than two words', () => {
  const { types } = introspectionFromSchema(schema).__schema;
  const all = [...described(types.filter(({ name }) => !name.startsWith('__')))];
  expect(all.length).toBeGreaterThan(150);
  expect(all.filter(([, description]) => description.trim().split(/\s+/).length < 3)).toEqual([]);
});
