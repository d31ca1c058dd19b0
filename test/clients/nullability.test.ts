/** Code generators that know @semanticNonNull make a field non-null if it is null only with an error. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClientProject, isHeavyMissing } from '../support/heavy-clients.js';
import { blockOf } from '../support/readme.js';

const README = 'test/clients/README.md';

const SELECTION = `
  chains { name tokens { symbol } tokenCount }
  tokens { symbol }
  tokenSearch { totalCount }
  tokenChanges { cursor }
  chainChanges { cursor }
  token(chainKey: "base", address: "0x0") { destinations { chainKey } }
  destinations(srcChainKey: "base", srcToken: "0x0") { chainKey }`;

const USE_MARKED = `
  export const tokens: readonly { symbol: string }[] = data.chains.flatMap((chain) => chain.tokens);
  export const counts: number = data.chains.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  export const found: number = data.tokenSearch.totalCount + data.tokens.length;
  export const cursors: string = data.tokenChanges.cursor + data.chainChanges.cursor;
  export const routes: number | undefined = data.token?.destinations.length;
`;
/** A program with type errors: its two fields can be null without an error, and are used as non-null. */
const USE_OTHERS = `
  export const name: string = data.token.destinations.length > 0 ? 'some' : 'none';
  export const count: number = data.destinations.length;
`;

const QUERY = `
  import { graphql } from './graphql.js';
  export const QUERY = graphql(\`query Everything { ${SELECTION} }\`);
`;
const EXECUTED = `
  import { execute } from './execute.js';
  import { QUERY } from './query.js';
  const data = await execute('', QUERY, {});
`;
const COMPILED_BY_RELAY = (name: string) => `
  import type { ${name}$data } from './__generated__/${name}.graphql';
  declare const data: ${name}$data;
`;

const complaintsIn = (errors: readonly string[], file: string) =>
  errors.filter((error) => error.startsWith(`src/${file}.ts`) && error.includes("possibly 'null'")).length;

describe.skipIf(isHeavyMissing)('a client that handles errors before it reads data', () => {
  async function compiled(
    folders: readonly string[],
    files: Readonly<Record<string, string>>,
    ...commands: readonly (readonly string[])[]
  ): Promise<readonly string[]> {
    const project = createClientProject(onTestFinished, ...folders);
    for (const [path, text] of Object.entries(files)) project.write(path, text);
    for (const [tool = '', ...args] of commands)
      expect(await project.tool(tool, ...args)).toMatchObject({ status: 0 });
    return project.compile();
  }

  const TYPED = {
    'src/app.ts': '',
    'src/query.ts': QUERY,
    'src/marked.ts': EXECUTED + USE_MARKED,
    'src/others.ts': EXECUTED + USE_OTHERS,
  };
  const CONFIG = { 'codegen.json': blockOf(README, 'codegen-nullability.json') };
  const toStrict = blockOf(README, 'semantic-to-strict').trim().split(' ').slice(1);
  const TADA = JSON.parse(blockOf(README, 'projects/tada/tada.json')) as {
    compilerOptions: { plugins: { schema: string }[] };
  };
  const strictTada = structuredClone(TADA);
  for (const plugin of strictTada.compilerOptions.plugins) plugin.schema = toStrict.at(-1) ?? '';

  it.each([
    [
      'GraphQL Code Generator',
      () => compiled(['typed', 'codegen'], { ...TYPED, ...CONFIG }, ['graphql-codegen']),
    ],
    [
      'gql.tada',
      () =>
        compiled(['typed', 'tada'], { ...TYPED, 'tada.json': JSON.stringify(strictTada) }, toStrict, [
          'gql.tada',
          'generate-output',
        ]),
    ],
    ['Relay', () => compiled(['relay'], relayFiles(' @throwOnFieldError'), ['relay-compiler'])],
  ] as const)('a client with %s needs null checks only for unmarked fields', async (_client, compile) => {
    const errors = await compile();
    expect(errors.filter((error) => !error.startsWith('src/others.ts'))).toEqual([]);
    expect(complaintsIn(errors, 'others')).toBe(2);
  });

  // `typed.test.ts` tests the same for the other clients.
  it('a page needs null checks everywhere if it does not declare to Relay that it handles errors', async () => {
    const usual = await compiled(['relay'], relayFiles(''), ['relay-compiler']);
    expect(complaintsIn(usual, 'marked')).toBeGreaterThanOrEqual(6);
    expect(usual.filter((error) => !/^src\/(marked|others)\.ts/.test(error))).toEqual([]);
  });

  function relayFiles(directive: string): Readonly<Record<string, string>> {
    return {
      'src/Query.ts': `import { graphql } from 'react-relay';
        export const QUERY = graphql\`query QueryEverythingQuery${directive} { ${SELECTION} }\`;`,
      'src/marked.ts': COMPILED_BY_RELAY('QueryEverythingQuery') + USE_MARKED,
      'src/others.ts': COMPILED_BY_RELAY('QueryEverythingQuery') + USE_OTHERS,
    };
  }
});
