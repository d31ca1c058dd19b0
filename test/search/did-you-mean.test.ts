/** A search that finds nothing suggests up to three queries that find something, and never rows. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isOneTypo } from '../../src/domain/fold-text.js';
import { demoTokens } from '../fixtures/demo.js';
import { tokenRow } from '../fixtures/rows.js';
import { createExecutor } from '../graph/executor.js';
import { share } from '../support/ends.js';
import { type Found, searchIn } from '../support/searches.js';
import { createTestGateway } from '../support/test-gateway.js';

const gateway = share((atEnd) => createTestGateway({ atEnd }));

const search = (query: string, filter = {}, from = gateway) => searchIn(from, { query, filter });
const NOTHING: Found = { totalCount: 0, nodes: [], didYouMean: [] };
const serve = (tokens: readonly object[]) => createTestGateway({ listings: { tokens } });

const lowered = ({ didYouMean }: Found) => didYouMean.map((query) => query.toLowerCase());

const UNLISTED =
  'usdd usds wbeth usdp usdn usdy tusd wbnb busd fdusd lusdt usdx usdm eurs eurt ezeth rseth oseth sweth ethx solvbtc lbtc gmx dydx shib doge'.split(
    ' ',
  );

it('a word of a name is replaced by the symbol of the tokens with that name', async () => {
  expect(await search('arb Tether')).toEqual({ ...NOTHING, didYouMean: ['arb USDT'] });
  expect(await search('bitcoin wrapped')).toEqual({ ...NOTHING, didYouMean: ['BTC wrapped'] });
});

it('symbols of tokens that are not listed get no suggestions', async () => {
  for (const symbol of UNLISTED) expect([symbol, await search(symbol)]).toEqual([symbol, NOTHING]);
});

it.each([
  ['a whole address', '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb49'],
  ['an address of Move beside a typo', '0x1::aptos_coin::AptosCion'],
  ['a CAIP-19', 'eip155:1/erc20:0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb49'],
  ['the start of an address', '0xa0b86992'],
  ['the start of an address without 0x, beside a typo', 'a0b86992 usdcc'],
  ['an address of Solana beside a typo', 'usdcc EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1x'],
  ['digits', '84553'],
  ['marks', '!!!! ????'],
  ['emoji', '🚀🚀🚀🚀🚀'],
  ['a word of three letters', 'eht'],
  ['a wrong letter in a symbol, which is another symbol', 'usfc'],
  ['a wrong first letter', 'isdc'],
  ['two typos in one word', 'ehteremu'],
  ['a typo beside another word that finds nothing', 'usdcc qqqqqq'],
  ['words that find something only apart', 'pudgy base'],
  ['the plural of a chain', 'stables'],
])('%s has no suggestion', async (_name, query) => {
  expect(await search(query)).toEqual(NOTHING);
});

it('the filter applies to suggestions, and does not decide which words are misspelled', async () => {
  expect(lowered(await search('usdcc', { chainKeys: ['Base'] }))).toEqual(['usdc']);
  expect(lowered(await search('pednle', { chainKeys: ['solana'] }))).toEqual([]);
  // Spelled right, but not on this chain: another token must not be suggested in its place.
  expect(lowered(await search('pendle', { chainKeys: ['solana'] }))).toEqual([]);
  expect(lowered(await search('usdcc', { chainKeys: [] }))).toEqual([]);
});

it('a wrong letter in a long symbol is not corrected, even if a name is spelled like it', async () => {
  const other = await serve([tokenRow('base', '0x1', { symbol: 'LONGSYM', name: 'Longsym Coinage' })]);
  expect(lowered(await search('longsim', {}, other))).toEqual([]);
  expect(lowered(await search('longsmy', {}, other))).toEqual(['longsym']);
  expect(lowered(await search('coinaga', {}, other))).toEqual(['coinage']);
});

it('at most three queries are suggested, each short enough to search for', async () => {
  const names = ['Gateway', 'Gatewey', 'Gatewoy', 'Gatewuy', 'Gatewby'];
  const tokens = names.map((name, nth) => tokenRow('base', `0x${nth + 1}`, { symbol: `T${nth}`, name }));
  const other = await serve(tokens);
  expect((await search('gatewxy', {}, other)).didYouMean).toHaveLength(3);
  const long = `gatewy${' '.repeat(194)}`;
  for (const query of (await search(long, {}, other)).didYouMean) {
    expect((await search(query, {}, other)).totalCount).toBeGreaterThan(0);
  }
  const ligatures = 'ﷺ '.repeat(96);
  expect((await search(`${ligatures}gatewxy`, {}, other)).didYouMean).toEqual([]);
});

it('every suggestion finds something under the same filter, and changes only misspelled words', async () => {
  const texts = demoTokens.flatMap(({ symbol, name, chainKey }) => [symbol, ...name.split(' '), chainKey]);
  const words = [...new Set(texts)].filter(({ length }) => length >= 4);
  const letters = fc.constantFrom(...'aeioustn1c');
  const slipped = fc
    .tuple(fc.constantFrom(...words), fc.nat(3), fc.nat(30), letters)
    .map(([word, kind, place, letter]) => {
      const at = 1 + (place % (word.length - 1));
      const [start, end] = [word.slice(0, at), word.slice(at + 1)];
      const swapped = end.slice(0, 1) + word[at] + end.slice(1);
      return start + [end, letter + word.slice(at), letter + end, swapped][kind];
    });
  const queries = fc.tuple(slipped, fc.option(fc.oneof(slipped, fc.constantFrom(...words)), { nil: '' }));
  const filters = fc.constantFrom(
    {},
    { isBridgeable: true },
    { chainTypes: ['EVM'] },
    { chainKeys: ['ethereum', 'base', 'Solana'] },
  );
  const piecesOf = (text: string) => text.toLowerCase().split(/[^a-z0-9₮]+/);
  let suggested = 0;
  await fc.assert(
    fc.asyncProperty(queries, filters, async ([one, other], filter) => {
      const typed = `${one} ${other}`.trim();
      const found = await search(typed, filter);
      if (found.totalCount > 0) expect(found.didYouMean).toEqual([]);
      expect(found.didYouMean.length).toBeLessThanOrEqual(3);
      expect(new Set(lowered(found)).size).toBe(found.didYouMean.length);
      for (const query of found.didYouMean) {
        suggested++;
        expect((await search(query, filter)).totalCount).toBeGreaterThan(0);
        for (const piece of piecesOf(query)) {
          const isCorrected = !typed.toLowerCase().includes(piece);
          const isTypo = piecesOf(typed).some((word) => isOneTypo(word, piece));
          expect(!isCorrected || isTypo || piece.length > 24 || /₮/.test(typed)).toBe(true);
        }
      }
    }),
    { numRuns: 300, seed: 11 },
  );
  expect(suggested).toBeGreaterThan(20);
});

it('the field didYouMean costs a unit, and another search if nothing was found', async () => {
  await gateway.query('{ tokens { symbol } }');
  const execute = await createExecutor(gateway);
  const unitsOf = async (typed: string, fields: string) => {
    const query = `{ tokenSearch(query: "${typed}") { ${fields} } }`;
    return (await execute({ query }))?.context.cost.spent.units ?? 0;
  };
  const addedBy = async (typed: string) =>
    (await unitsOf(typed, 'totalCount didYouMean')) - (await unitsOf(typed, 'totalCount'));
  // A unit for the field, and two for each token: one for the row, and one for the only word of the query.
  expect(await addedBy('usdcc')).toBe(1 + 2 * demoTokens.length);
  expect(await addedBy('usdc')).toBe(1);
});
