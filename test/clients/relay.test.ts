/** Relay compiles a page against the schema, joins pages of a search, and refetches a token by its id. */
import { beforeAll, describe, expect, it } from 'vitest';
import { afterTests } from '../support/ends.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import {
  type ClientProject,
  createClientProject,
  type Ended,
  isHeavyMissing,
} from '../support/heavy-clients.js';
import { expectAllFound, type PickedToken, QUESTIONS, searchedTokens } from './pickers.js';

interface Report {
  readonly picked: {
    readonly lengths: readonly number[];
    readonly totalCount: number;
    readonly edges: readonly { readonly node: PickedToken }[];
  };
  readonly refetched: { readonly before: string; readonly after: string };
  readonly asked: readonly string[];
}

const WRONG = `import type { pages_token$data } from './__generated__/pages_token.graphql';
export const asOf = ({ price }: pages_token$data): number | undefined => price?.asOf;
`;

describe.skipIf(isHeavyMissing)('Relay', () => {
  let project: ClientProject;
  let compiled: Ended;
  let errors: readonly string[];
  let ran: Ended;
  let report: Report;
  const atEnd = afterTests();
  beforeAll(async () => {
    project = createClientProject(atEnd, 'relay');
    project.write('src/wrong.ts', WRONG);
    compiled = await project.tool('relay-compiler');
    errors = await project.compile();
    const { address } = await startGatewayProcess({ TOKENS_FRESH_MS: '100' }, atEnd);
    ran = await project.node('run.mjs', JSON.stringify({ endpoint: `${address}/graphql`, ...QUESTIONS }));
    report = JSON.parse(ran.stdout || '{}') as Report;
  });

  it('Relay compiles a page against schema.graphql, and refuses one that uses a time as a number', () => {
    expect(compiled).toMatchObject({ status: 0, stderr: '' });
    expect(errors).toEqual([
      expect.stringMatching(/^src\/wrong\.ts.*Type 'string' is not assignable to type 'number'/s),
    ]);
    // The first page runs without warnings.
    expect(ran).toMatchObject({ status: 0, stderr: '' });
  });

  it('Relay joins the pages of a search to one list, with each token once', () => {
    expect(report.picked.lengths).toEqual([20, 40, 60, searchedTokens.length]);
    expectAllFound(report.picked);
    const count = (name: string) => report.asked.filter((text) => text.startsWith(`query ${name}(`)).length;
    expect([count('pagesPickerQuery'), count('TokenPickerPageQuery')]).toEqual([1, 3]);
  });

  it('Relay refetches one token by its id', () => {
    const { before, after } = report.refetched;
    // The symbol, and the time of the price.
    for (const text of [before, after]) expect(text).toMatch(/^USDC 20.*Z$/);
    expect(after > before).toBe(true);
    expect(report.asked).toContainEqual(
      expect.stringMatching(/^query pagesTokenRefetchQuery\([^)]*\) \{\s+node\(id: \$id\) \{/),
    );
  });
});
