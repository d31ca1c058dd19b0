import { describe, expect, it } from 'vitest';
import { shareGateway } from '../support/shared-gateway.js';
import { expectPickers } from './pickers.js';
import { ask } from './recipes/fetch.js';

describe('fetch alone', () => {
  const gateway = shareGateway();

  it('fills each of the three pickers with one query', async () => {
    await expectPickers(async <Data>(query: string, variables: Record<string, unknown>) => {
      const { data, errors } = await ask<Data>(query, variables, gateway.endpoint);
      expect(errors).toEqual([]);
      return data;
    });
  });

  it('gets the data that could be read, and the errors of the rest with their codes', async () => {
    const query = '{ tokenSearch(first: 101) { totalCount } chain(chainKey: "base") { name } }';
    const { data, errors } = await ask<object>(query, {}, gateway.endpoint);
    expect(data).toEqual({ tokenSearch: null, chain: { name: 'Base' } });
    expect(errors).toMatchObject([{ path: ['tokenSearch'], extensions: { code: 'BAD_USER_INPUT' } }]);
  });

  it('fails with the messages if there is no data', async () => {
    await expect(ask('{ chains { nickname } }', {}, gateway.endpoint)).rejects.toThrow(
      /Cannot query field "nickname"/,
    );
    await expect(ask('{', {}, gateway.endpoint)).rejects.toThrow(/Syntax Error/);
  });
});
