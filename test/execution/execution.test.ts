import { describe, expect, it } from 'vitest';
import { createTestGateway } from '../support/test-gateway.js';

describe('a repeated operation', () => {
  it('uses the default of a non-null variable', async () => {
    const { query } = await createTestGateway();
    const text = 'query ($k: String! = "base") { chain(chainKey: $k) { name } }';
    for (let nth = 0; nth < 4; nth++) {
      expect(await query(text)).toEqual({ data: { chain: { name: 'Base' } } });
    }
  });

  it.each([
    ['{ then: __typename }', '{"then":"Query"}'],
    ['{ chain(chainKey: "base") { then: name } }', '{"chain":{"then":"Base"}}'],
    ['{ chains(search: "base") { then: chainKey } }', '{"chains":[{"then":"base"}]}'],
  ])('may name a field `then`, which is no promise: %s', async (text, data) => {
    const { query } = await createTestGateway();
    for (let nth = 0; nth < 2; nth++) expect(JSON.stringify((await query(text)).data)).toBe(data);
  });

  it('ignores a parameter `then` like any other unknown parameter', async () => {
    const { post } = await createTestGateway();
    for (const name of ['then', 'else']) {
      const response = await post({ query: '{ __typename }', [name]: 1 });
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    }
  });

  it('never runs a text of the client as code', async () => {
    const { query } = await createTestGateway();
    // graphql-jit 0.8.9, once used here, inserted the text after this mark into code that it ran.
    const mark = '__MAGIC_DATE__33a9e76d_02e0_4128_8e92_3530ad3da74d';
    for (const quotes of ['"', '"""']) {
      const text = `{ chain(chainKey: ${quotes}${mark}globalThis.wasRun=1${quotes}) { name } }`;
      for (let nth = 0; nth < 3; nth++) {
        expect(await query(text)).toEqual({ data: { chain: null } });
        expect(globalThis).not.toHaveProperty('wasRun');
      }
    }
  });
});
