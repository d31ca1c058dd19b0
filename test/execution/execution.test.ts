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

  it('uses the variables of each request', async () => {
    const { query } = await createTestGateway();
    const text = 'query ($k: String!) { chain(chainKey: $k) { chainKey } }';
    for (const k of ['base', 'sei', 'base', 'nope', 'solana']) {
      expect((await query(text, { k })).data).toEqual({ chain: k === 'nope' ? null : { chainKey: k } });
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

  it('keeps the operations of a document apart', async () => {
    const { post } = await createTestGateway();
    const query =
      'query A($y: Boolean!) { chain(chainKey: "base") { ...C @include(if: $y) } } query B { chain(chainKey: "base") { ...C } } fragment C on Chain { name }';
    for (const operationName of ['A', 'A', 'B', 'B', 'B']) {
      const response = await post({ query, operationName, variables: { y: true } });
      expect(await response.json()).toEqual({ data: { chain: { name: 'Base' } } });
    }
  });

  it.each([
    ['a fragment', '...C ...C @skip(if: $s)', { name: 'Base' }],
    ['a fragment, the other way round', '...C @include(if: true) ...C @include(if: $s)', { name: 'Base' }],
    ['nothing', '...C @skip(if: $s) ...C', null],
  ])('looks at a condition that is null as graphql-js does: behind %s', async (_name, fields, chain) => {
    const { query } = await createTestGateway();
    const text = `query ($s: Boolean = false) { chain(chainKey: "base") { ${fields} } } fragment C on Chain { name }`;
    for (let nth = 0; nth < 3; nth++) {
      const { data, errors } = await query(text, { s: null });
      expect(data).toEqual({ chain });
      expect(errors?.length).toBe(chain ? undefined : 1);
    }
  });

  it('is the one that `operationName` names', async () => {
    const { post } = await createTestGateway();
    const query =
      'query A { chain(chainKey: "base") { chainKey } } query B { chain(chainKey: "sei") { name } }';
    for (let nth = 0; nth < 3; nth++) {
      for (const [operationName, chain] of [
        ['A', { chainKey: 'base' }],
        ['B', { name: 'SEI' }],
      ]) {
        const response = await post({ query, operationName });
        expect(await response.json()).toEqual({ data: { chain } });
      }
    }
  });
});
