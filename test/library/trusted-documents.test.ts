import { describe, expect, it } from 'vitest';
import type { OpenGatewayOptions } from '../../src/library/index.js';
import { AT, open, post } from '../support/open-gateway.js';
import { temporaryFile } from '../support/temporary-files.js';

const DOCUMENT = '{ chains { chainKey } }';
const OTHER = '{ chains { name } }';
const TEXTS = { chains: DOCUMENT, broken: '{' };

const byId = (documentId: string) =>
  new Request(AT, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ documentId }),
  });

describe('trustedDocuments', () => {
  it.each<[string, () => NonNullable<OpenGatewayOptions['trustedDocuments']>]>([
    ['the path of a file', () => temporaryFile(JSON.stringify(TEXTS))],
    ['its content', () => TEXTS],
    ['a Map', () => new Map(Object.entries(TEXTS))],
    [
      "Apollo's manifest",
      () => ({
        format: 'apollo-persisted-query-manifest',
        version: 1,
        operations: Object.entries(TEXTS).map(([id, body]) => ({ id, body, name: id, type: 'query' })),
      }),
    ],
  ])('as %s can be requested by id, and invalid ones are logged', async (_form, documents) => {
    const { fetch, lines } = await open({ trustedDocuments: documents() });
    const data = { data: { chains: expect.any(Array) } };
    expect(await (await fetch(byId('chains'))).json()).toMatchObject(data);
    expect(await (await fetch(post(OTHER))).json()).toMatchObject(data);
    expect((await fetch(byId('nobody'))).status).toBe(400);
    await expect.poll(() => lines.join('')).toContain('"invalid":{"broken":"Syntax Error');
  });

  it('are the only allowed documents with trustedDocumentsOnly', async () => {
    const { fetch } = await open({ trustedDocuments: TEXTS, trustedDocumentsOnly: true });
    expect([(await fetch(post(OTHER))).status, (await fetch(post(DOCUMENT))).status]).toEqual([403, 200]);
  });

  it.each<[string, OpenGatewayOptions, RegExp]>([
    ['none', { trustedDocuments: {} }, /trustedDocuments: expected .*, got a value without documents/],
    ['a list', { trustedDocuments: [1] }, /got a value which is an array/],
    [
      'no texts',
      { trustedDocuments: { a: 1 } },
      /got a value with this error: a: Invalid type: Expected string but received 1/,
    ],
    [
      'no file',
      { trustedDocuments: '/no/such/file' },
      /got "\/no\/such\/file", which cannot be read \(ENOENT\)/,
    ],
    [
      'only none',
      { trustedDocumentsOnly: true },
      /trustedDocuments: expected a file of documents for trustedDocumentsOnly=true/,
    ],
  ])('are refused if they are %s', async (_what, options, message) => {
    await expect(open(options)).rejects.toThrow(message);
  });
});
