import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../src/config.js';

/** The settings with a file of documents that has this content. */
function configOf(content: string) {
  const folder = mkdtempSync(join(tmpdir(), 'documents-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'documents.json');
  writeFileSync(path, content);
  return readConfig({ TRUSTED_DOCUMENTS: path });
}

const HASH = 'dc67510fb4289672bea757e862d6b00e83db5d3cbbcfb15260601b6f29bb2b8f';

describe('a file of documents', () => {
  it.each([
    [
      'of generate-persisted-query-manifest',
      {
        format: 'apollo-persisted-query-manifest',
        version: 1,
        operations: [{ id: HASH, name: 'A', type: 'query', body: 'query A { __typename }' }],
      },
      HASH,
    ],
    ['of relay-compiler', { '0b3c6e8e0d3a5d7f2e1d6f4a9b8c7d6e': 'query A { __typename }' }, undefined],
    ['of GraphQL Code Generator', { [HASH]: 'query A { __typename }' }, HASH],
    ['with odd ids', { format: 'query A { __typename }', __proto__x: 'query A { __typename }' }, 'format'],
  ])('%s is read', (_name, json, id) => {
    const settings = configOf(JSON.stringify(json));
    const documents = 'config' in settings ? settings.config.trustedDocuments : undefined;
    expect(documents?.get(id ?? Object.keys(json)[0] ?? '')).toBe('query A { __typename }');
  });

  it.each([
    ['{', 'which is not JSON'],
    ['', 'which is not JSON'],
    ['[]', 'which is an array'],
    ['"query { a }"', 'which is a string'],
    ['null', 'which is null'],
    ['{}', 'which has no documents'],
    ['{"a":1}', 'where the text of "a" is a number'],
    ['{"":"{ a }"}', 'where "" is no id'],
    [`{"${'x'.repeat(300)}":"{ a }"}`, 'is no id of 1 to 200 characters'],
    ['{"format":"apollo-persisted-query-manifest","version":2,"operations":[]}', 'and version 2, not'],
    ['{"format":"other","version":1,"operations":[]}', 'whose format is "other"'],
    [
      '{"format":"apollo-persisted-query-manifest","version":1,"operations":{}}',
      'are an object, not an array',
    ],
    ['{"format":"apollo-persisted-query-manifest","version":1,"operations":[]}', 'which has no documents'],
    [
      '{"format":"apollo-persisted-query-manifest","version":1,"operations":[7]}',
      'operation that is a number',
    ],
    [
      '{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"a"}]}',
      'where the text of "a" is missing',
    ],
    [
      '{"format":"apollo-persisted-query-manifest","version":1,"operations":[{"id":"a","body":"{ a }"},{"id":"a","body":"{ b }"}]}',
      'where "a" stands for two documents',
    ],
  ])('%s is a fault that says what came', (content, fault) => {
    const settings = configOf(content);
    expect('errors' in settings && settings.errors).toEqual([
      expect.stringMatching(
        /^TRUSTED_DOCUMENTS: expected a JSON file of documents as .*, got ".*documents\.json", /,
      ),
    ]);
    expect('errors' in settings && settings.errors[0]).toContain(fault);
  });
});
