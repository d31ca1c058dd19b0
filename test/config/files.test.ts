import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.js';
import { temporaryFile } from '../support/temporary-files.js';

/** Reads the settings with a file of documents that has this content. */
const configOf = (content: string) => readConfig({ TRUSTED_DOCUMENTS: temporaryFile(content) });

const NAMES = 'query Names { chains { name } }';

describe('a file of documents', () => {
  // The first three are as these tools wrote them: versions 1.4.0, 21.0.1, and client-preset 6.2.0.
  it.each([
    [
      'of generate-persisted-query-manifest',
      {
        format: 'apollo-persisted-query-manifest',
        version: 1,
        operations: [
          {
            id: '483e5f108130bba44a9562f99fb295baa9cf0541a6d35b47716b80517048b89f',
            name: 'Names',
            type: 'query',
            body: 'query Names {\n  chains {\n    name\n    __typename\n  }\n}',
          },
        ],
      },
      '483e5f108130bba44a9562f99fb295baa9cf0541a6d35b47716b80517048b89f',
      'query Names {\n  chains {\n    name\n    __typename\n  }\n}',
    ],
    [
      'of relay-compiler',
      { fa7db77d2e5ebef0dd8eeda0ef4486a5: 'query relayNamesQuery {\n  chains {\n    name\n    id\n  }\n}\n' },
      'fa7db77d2e5ebef0dd8eeda0ef4486a5',
      'query relayNamesQuery {\n  chains {\n    name\n    id\n  }\n}\n',
    ],
    [
      'of GraphQL Code Generator',
      { 'sha256:3fe166c46fd7da3d5ad5cd28b5b39752fcc081a0060ca0e9847b06ea85c0b50c': NAMES },
      'sha256:3fe166c46fd7da3d5ad5cd28b5b39752fcc081a0060ca0e9847b06ea85c0b50c',
      NAMES,
    ],
    ['with an odd id', { format: NAMES }, 'format', NAMES],
  ])('%s is read', (_name, json, id, text) => {
    const settings = configOf(JSON.stringify(json));
    expect('config' in settings && [...(settings.config.trustedDocuments ?? [])]).toEqual([[id, text]]);
  });

  it.each([
    ['{', 'which is not JSON'],
    ['', 'which is not JSON'],
    ['[]', 'which is an array'],
    ['"query { a }"', 'which is a string'],
    ['null', 'which is null'],
    ['{}', 'which has no documents'],
    ['{"a":1}', 'where the text of "a" is a number'],
    ['{"":"{ a }"}', 'where "" is not an id'],
    [`{"${'x'.repeat(300)}":"{ a }"}`, 'is not an id of 1 to 200 characters'],
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
  ])('%s is an error that quotes the actual content', (content, fault) => {
    const settings = configOf(content);
    expect('errors' in settings && settings.errors).toEqual([
      expect.stringMatching(
        /^TRUSTED_DOCUMENTS: expected a JSON file of documents as .*, got ".*file\.txt", /,
      ),
    ]);
    expect('errors' in settings && settings.errors[0]).toContain(fault);
  });
});
