/** Fields called `then`, and defaults of non-null variables, are nothing special. */
import { expect, it } from 'vitest';
import { startServer } from '../support/test-server.js';

it.each([
  ['{ then: __typename }', '{"data":{"then":"Query"}}'],
  ['{ chain(chainKey: "base") { then: name } }', '{"data":{"chain":{"then":"Base"}}}'],
  ['{ chains(search: "base") { then: chainKey } }', '{"data":{"chains":[{"then":"base"}]}}'],
  ['query ($k: String! = "base") { chain(chainKey: $k) { name } }', '{"data":{"chain":{"name":"Base"}}}'],
])('a field `then` and the default of a non-null variable are executed as usual: %s', async (query, body) => {
  const { post, countExecuted } = await startServer();
  for (let nth = 0; nth < 2; nth++) expect(await (await post({ query })).text()).toBe(body);
  expect((await countExecuted({ query }, { query }, { query })).bodies).toEqual([body, body, body]);
});
