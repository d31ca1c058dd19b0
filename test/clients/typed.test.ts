/** Typed clients make types from the schema: correct pages compile with them, and wrong ones do not. */
import { beforeAll, describe, expect, it } from 'vitest';
import { afterTests } from '../support/ends.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { type ClientProject, createClientProject, isHeavyMissing } from '../support/heavy-clients.js';
import {
  ethChains,
  expectAllFound,
  QUESTIONS,
  searchedTokens,
  type TokenPicker,
  usdcDestinations,
} from './pickers.js';

const PRICED = [
  "import { graphql } from './graphql.js';",
  'export const PRICED = graphql(`',
  '  query Priced($query: String) { tokenSearch(query: $query) { edges { node { price { asOf } } } } }',
  '`);',
].join('\n');
const USE = `
  import { execute } from './execute.js';
  import { PRICED } from './priced.js';
  export const { tokenSearch } = await execute('', PRICED, { query: 'usdc' });
`;

const WRONG = {
  'a time used as a number': [
    'export const asOf: number | undefined = tokenSearch?.edges[0]?.node.price?.asOf;',
    "Type 'string' is not assignable to type 'number'",
  ],
  'a price used as if it always existed': [
    'export const asOf = tokenSearch?.edges.map(({ node }) => node.price.asOf);',
    "'node.price' is possibly 'null'",
  ],
  'a field used as if it could not fail': [
    'export const count = tokenSearch.edges.length;',
    "'tokenSearch' is possibly 'null'",
  ],
  'a field that was not asked for': [
    'export const ids = tokenSearch?.edges.map(({ node }) => node.id);',
    "Property 'id' does not exist",
  ],
  'a variable of another type': [
    "await execute('', PRICED, { query: 7 });",
    "Type 'number' is not assignable to type 'string'",
  ],
} as const;

describe.skipIf(isHeavyMissing).each([
  ['GraphQL Code Generator', 'codegen', ['graphql-codegen']],
  ['gql.tada', 'tada', ['gql.tada', 'generate-output']],
] as const)('%s', (_client, folder, [tool, ...args]) => {
  let project: ClientProject;
  let errors: readonly string[];
  const atEnd = afterTests();
  const wrongFile = (name: string) => `src/wrong-${Object.keys(WRONG).indexOf(name)}.ts`;
  beforeAll(async () => {
    project = createClientProject(atEnd, 'typed', folder);
    project.write('src/priced.ts', PRICED);
    for (const [name, [wrong]] of Object.entries(WRONG)) project.write(wrongFile(name), USE + wrong);
    expect(await project.tool(tool, ...args)).toMatchObject({ status: 0 });
    errors = await project.compile();
  });

  it('the types let a page with the three pickers compile and run', async () => {
    expect(errors.filter((error) => !error.startsWith('src/wrong-'))).toEqual([]);

    const { address } = await startGatewayProcess();
    const questions = JSON.stringify({ endpoint: `${address}/graphql`, ...QUESTIONS });
    const { stdout, stderr } = await project.node('out/app.js', questions);
    expect(stderr).toBe('');
    const { tokenSearch, ...shown } = JSON.parse(stdout) as TokenPicker;
    expectAllFound(tokenSearch);
    expect(shown).toMatchObject({ chains: ethChains, destinations: usdcDestinations });
    expect(shown).toHaveProperty('times.length', searchedTokens.length);
  });

  it.each(Object.entries(WRONG))('the types let the compiler refuse %s', (name, [, error]) => {
    expect(errors.filter((text) => text.startsWith(wrongFile(name)))).toEqual([
      expect.stringContaining(error),
    ]);
  });
});
