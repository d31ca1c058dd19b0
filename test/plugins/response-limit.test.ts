/** A response beyond its limit of bytes is refused with a short error. */
import { expect, it } from 'vitest';
import { schema } from '../../src/graph/schema/index.js';
import { callTool, prepareTool } from '../../src/mcp/call-tool.js';
import { TOOLS } from '../../src/mcp/tools.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { codesOf, createTestGateway } from '../support/test-gateway.js';
import { startServer } from '../support/test-server.js';

const ALL = '{ id address symbol name decimals chain { name } }';
const aliases = (count: number) =>
  Array.from({ length: count }, (_nothing, nth) => `${'x'.repeat(198)}${nth + 10}: symbol`).join(' ');

/** 1,500 rows of the longest texts that a row may have, in letters of three bytes. */
const LONG_ROWS = Array.from({ length: 1_500 }, (_nothing, nth) =>
  tokenRow('ethereum', `${'☃'.repeat(508)}${1000 + nth}`, {
    symbol: '☃'.repeat(256),
    name: '☃'.repeat(1024),
  }),
);

it('a response is refused if the upstream sends the longest texts, but not for the same rows with shorter texts', async () => {
  const { ask } = await startServer({ listings: { chains: [chainRow('ethereum')], tokens: LONG_ROWS } });
  for (let nth = 0; nth < 3; nth++) {
    for (const method of ['POST', 'GET']) {
      const { status, body, headers } = await ask({ query: `{ tokens ${ALL} }`, method });
      // The operation writer found this, so graphql-js did not execute the operation once more.
      expect([status, headers['x-cost']]).toEqual([200, '0']);
      expect(JSON.parse(body.toString())).toEqual({
        errors: [
          {
            message: expect.stringMatching(/^Expected a response of at most 8388608 bytes/),
            extensions: { code: 'LIMIT_EXCEEDED' },
          },
        ],
      });
    }
    const { body } = await ask({ query: '{ tokens { symbol decimals } }' });
    expect(JSON.parse(body.toString()).data.tokens).toHaveLength(1_500);
  }
  // graphql-js executes this operation, because the operation writer does not support introspection.
  const byGraphqlJs = await ask({ query: `{ tokens ${ALL} __schema { queryType { name } } }` });
  expect(codesOf(JSON.parse(byGraphqlJs.body.toString()))).toEqual(['LIMIT_EXCEEDED']);
});

it('a response is refused before its operation is executed if the names are too long', async () => {
  const tokens = Array.from({ length: 3_000 }, (_nothing, nth) => tokenRow('ethereum', `0x${nth}`));
  const { query } = await createTestGateway({ listings: { chains: [chainRow('ethereum')], tokens } });
  expect(codesOf(await query(`{ tokens { ${aliases(14)} } }`))).toEqual(['LIMIT_EXCEEDED']);
  expect(codesOf(await query(`{ tokenChanges { changed { ${aliases(14)} } } }`))).toEqual(['LIMIT_EXCEEDED']);
  expect((await query<{ tokens: object[] }>(`{ tokens { ${aliases(10)} } }`)).data?.tokens).toHaveLength(
    3_000,
  );
});

it('a response that is refused is a short error for an agent', async () => {
  const [tool] = TOOLS;
  if (!tool) throw new Error('Expected a tool');
  const data = JSON.stringify({ data: { tokens: 'x'.repeat(5_000_000) } });
  const { result } = await callTool(prepareTool(schema, tool), {}, async () => data);
  expect(result).toMatchObject({ isError: true });
  expect(result.content[0]?.text).toMatch(/LIMIT_EXCEEDED.*Expected a result of at most 4194304 characters/);
});
