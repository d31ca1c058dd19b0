/** A file of documents is read in the formats of the usual tools, or refused with a reason. */
import { expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import { temporaryFile } from '../support/ends.js';

const configOf = (content: string) => readConfig({ TRUSTED_DOCUMENTS: temporaryFile(content) });

const NAMES = 'query Names { chains { name } }';
const MANIFEST = { format: 'apollo-persisted-query-manifest', version: 1 };
const APOLLO = {
  id: '483e5f108130bba44a9562f99fb295baa9cf0541a6d35b47716b80517048b89f',
  name: 'Names',
  type: 'query',
  body: 'query Names {\n  chains {\n    name\n    __typename\n  }\n}',
};
const manifest = (operations: unknown, changes: object = {}) =>
  JSON.stringify({ ...MANIFEST, operations, ...changes });

// The first three are as these tools wrote them: versions 1.4.0, 21.0.1, and client-preset 6.2.0.
it.each([
  ['generate-persisted-query-manifest', APOLLO.id, APOLLO.body, { ...MANIFEST, operations: [APOLLO] }],
  [
    'relay-compiler',
    'fa7db77d2e5ebef0dd8eeda0ef4486a5',
    'query relayNamesQuery {\n  chains {\n    name\n  }\n}\n',
  ],
  [
    'GraphQL Code Generator',
    'sha256:3fe166c46fd7da3d5ad5cd28b5b39752fcc081a0060ca0e9847b06ea85c0b50c',
    NAMES,
  ],
  ['with an odd id', 'format', NAMES],
])('a file of documents is read: %s', (_name, id, text, json: object = { [id]: text }) => {
  const settings = configOf(JSON.stringify(json));
  expect('config' in settings && [...(settings.config.trustedDocuments ?? [])]).toEqual([[id, text]]);
});

it.each([
  ['{', ', which is not JSON'],
  ['["{ a }"]', ' which is an array'],
  ['null', ' with this error: Invalid type: Expected Object but received null'],
  ['{}', ' without documents'],
  ['{"a":1}', ' with this error: a: Invalid type: Expected string but received 1'],
  ['{"":"{ a }"}', ' with this error: Invalid length'],
  [`{"${'x'.repeat(300)}":"{ a }"}`, 'with this error: '],
  [manifest([], { version: 2 }), 'version: Invalid type'],
  [manifest([], { format: 'z'.repeat(5000) }), 'format: Invalid type'],
  [manifest({}), 'operations: Invalid type'],
  [manifest([]), ' without documents'],
  [manifest([{ id: 'a' }]), 'operations.0.body: '],
  [manifest(['{ a }', '{ b }'].map((body) => ({ id: 'a', body }))), ' where "a" names two documents'],
])('the file of documents %s is an error that says what is wrong', (content, fault) => {
  const settings = configOf(content);
  const [error = '', ...others] = 'errors' in settings ? settings.errors : [];
  expect(error).toMatch(/^TRUSTED_DOCUMENTS: expected a JSON file of documents as .*, got ".*file\.txt"/);
  expect(error).toContain(fault);
  expect(error.length).toBeLessThan(1_000);
  expect(others).toEqual([]);
});
