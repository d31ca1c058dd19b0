/** The recipe for fetch fills the pickers, and gives data and errors as the guide says. */
import { expect, it } from 'vitest';
import { shareGateway } from '../support/gateway-process.js';
import { expectPickers } from './pickers.js';
import { ask } from './recipes/fetch.js';

const gateway = shareGateway();

it('fetch fills the pickers of chains, tokens and destinations, each with one query', async () => {
  await expectPickers(async (query, variables) => {
    const { data, errors } = await ask(query, variables, gateway.endpoint);
    expect(errors).toEqual([]);
    return data;
  });
});

it('fetch gets the data that could be read, and the errors of the rest with their codes', async () => {
  const query = '{ tokenSearch(first: 101) { totalCount } chain(chainKey: "base") { name } }';
  const { data, errors } = await ask<object>(query, {}, gateway.endpoint);
  expect(data).toEqual({ tokenSearch: null, chain: { name: 'Base' } });
  expect(errors).toMatchObject([{ path: ['tokenSearch'], extensions: { code: 'BAD_USER_INPUT' } }]);
});

it('fetch fails with the message and the code of the error if there is no data', async () => {
  const failing = (query: string) => expect(ask(query, {}, gateway.endpoint)).rejects;
  await failing('{ chains { nickname } }').toThrow(/Cannot query field "nickname"/);
  await failing('{').toMatchObject({
    message: expect.stringContaining('Syntax Error'),
    errors: [{ extensions: { code: 'GRAPHQL_PARSE_FAILED' } }],
  });
});
