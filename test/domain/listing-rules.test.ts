import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NATIVE_PLACEHOLDER, tokenKey } from '../../src/domain/addresses.js';
import { caip2Of, caip19Of } from '../../src/domain/caip.js';
import type { Chain, Token } from '../../src/domain/listing.js';
import { NO_RULES, parseListingRules } from '../../src/domain/listing-rules.js';
import { CHAINS, TOKENS } from '../../src/upstream/listing-kinds.js';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';

const ORIGIN = { source: 'v1', takenAt: 0 };
const { rows: chains } = await CHAINS.parse(demoChains, ORIGIN);
const { rows: tokens } = await TOKENS.parse(demoTokens, ORIGIN);
/** The rules, resolved with all chains known. */
const resolved = (text: string, known = chains) => parseListingRules(text).resolve(() => known);
const noRules = NO_RULES.resolve(() => chains);
const USDC_ON_BASE = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';

describe('rules', () => {
  it('that change nothing return the same arrays', () => {
    const all = `chains ${chains.map(({ chainKey }) => chainKey).join(' ')}`;
    for (const rules of [noRules, resolved('hide nowhere\nhide base:0x1'), resolved(all)]) {
      expect(rules.selectChains(chains)).toBe(chains);
    }
    expect(noRules.selectTokens(tokens)).toBe(tokens);
    expect(resolved('hide nowhere').selectTokens(tokens)).toBe(tokens);
    expect(noRules.keptFacts('base')).toBeUndefined();
  });

  it('distinguish tokens from identifiers of chains, and keep the letter case of case-sensitive addresses', () => {
    const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
    const type = '0x1::aptos_coin::AptosCoin';
    const rules = resolved(`hide solana:${mint}\nhide aptos:${type}`);
    expect(rules.hides({ chainKey: 'solana', address: mint })).toBe(true);
    expect(rules.hides({ chainKey: 'solana', address: mint.toLowerCase() })).toBe(false);
    expect(rules.hides({ chainKey: 'aptos', address: type })).toBe(true);
    expect(rules.hides({ chainKey: 'solana', address: '0x1' })).toBe(false);
    const all = resolved('hide solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp\nhide aptos:1');
    expect(all.hides({ chainKey: 'solana', address: '0x1' })).toBe(true);
    expect(all.hides({ chainKey: 'aptos', address: '0x1' })).toBe(true);
  });

  it('hide the native asset by the zero address, too', () => {
    const rules = resolved(`hide ethereum:0x${'0'.repeat(40)}`);
    expect(rules.hides({ chainKey: 'ethereum', address: NATIVE_PLACEHOLDER })).toBe(true);
  });

  it('hide tokens of chains that the chain listing does not have', async () => {
    const { rows } = await TOKENS.parse([tokenRow('lost', '0x1'), tokenRow('base', '0x2')], ORIGIN);
    expect(resolved('hide lost').selectTokens(rows)).toEqual([rows[1]]);
    expect(resolved('chains base').selectTokens(rows)).toEqual([rows[1]]);
    expect(resolved('chains base', []).selectTokens(rows)).toEqual([rows[1]]);
  });

  it('by CAIP are looked up in the known chains', async () => {
    const rules = parseListingRules('hide eip155:77');
    const token = { chainKey: 'a', address: '0x1' };
    const of = async (...rows: unknown[]) =>
      rules.resolve(
        (
          (known) => () =>
            known
        )((await CHAINS.parse(rows, ORIGIN)).rows),
      );
    const none = rules.resolve(() => []);
    const one = await of(chainRow('a', { chainId: 77 }));
    const other = await of(chainRow('a', { chainId: 78 }), chainRow('b', { chainId: 77 }));
    expect(none.hides(token)).toBe(false);
    expect(one.hides(token)).toBe(true);
    expect(other.hides(token)).toBe(false);
    expect(new Set([none, one, other].map(({ rows }) => rows)).size).toBe(3);
    expect((await of(chainRow('a', { chainId: 77 }), chainRow('c'))).rows).toBe(one.rows);
    // The number alone is not enough: the chain has another type.
    expect((await of(chainRow('a', { chainId: 77, chainType: 'solana' }))).hides(token)).toBe(false);
    // If two chains have one number, the last one counts.
    const twins = await of(chainRow('a', { chainId: 77 }), chainRow('c', { chainId: 77 }));
    expect(twins.hides(token)).toBe(false);
    expect(twins.hides({ ...token, chainKey: 'c' })).toBe(true);
  });

  it('accept a change, keep the old value, or do not decide', () => {
    const rules = resolved(`
      accept base:${USDC_ON_BASE} decimals 6 18
      keep eip155:8453/erc20:${USDC_ON_BASE} symbol USDC
      keep ethereum chainId 1
      accept eip155:1 nativeCurrency "ETH 18 ${NATIVE_PLACEHOLDER}" "ETH 18 0xAB"`);
    const usdc = tokenKey('base', USDC_ON_BASE);
    expect(rules.verdictOn(usdc, 'decimals', '6', '18')).toBe('accept');
    expect(rules.verdictOn(tokenKey('Base', USDC_ON_BASE), 'decimals', '6', '18')).toBe('accept');
    expect(rules.verdictOn(usdc, 'decimals', '6', '9')).toBeUndefined();
    expect(rules.verdictOn(usdc, 'decimals', '18', '6')).toBeUndefined();
    expect(rules.verdictOn(usdc, 'symbol', 'USDC', 'usdc')).toBe('keep');
    // A change back to the value that is kept.
    expect(rules.verdictOn(usdc, 'symbol', 'usdc', 'USDC')).toBe('accept');

    expect(rules.verdictOn('ethereum', 'chainId', '1', '5')).toBe('keep');
    expect(rules.verdictOn('Ethereum', 'chainId', '1', '5')).toBe('keep');
    expect(rules.verdictOn('base', 'chainId', '8453', '5')).toBeUndefined();
    const zero = `ETH 18 0x${'0'.repeat(40)}`;
    expect(rules.verdictOn('ethereum', 'nativeCurrency', zero, 'ETH 18 0xab')).toBe('accept');
    expect(rules.verdictOn('ethereum', 'nativeCurrency', zero, 'ETH 6 0xab')).toBeUndefined();
    expect(rules.keptFacts(usdc)).toEqual(new Map([['symbol', 'USDC']]));
    expect(rules.keptFacts('ethereum')).toEqual(new Map([['chainId', '1']]));
    expect(rules.keptFacts('base')).toBeUndefined();
  });

  it('that contradict each other only by CAIP accept no change', () => {
    const rules = resolved('accept eip155:1 chainId 1 5\nkeep ethereum chainId 1');
    expect(rules.verdictOn('ethereum', 'chainId', '1', '5')).toBe('keep');
  });
});

describe('any rules', () => {
  const someChains = chains.slice(0, 6);
  const someTokens = tokens.filter(({ chainKey }) => someChains.some((chain) => chain.chainKey === chainKey));
  const chainWord = fc
    .constantFrom(...someChains)
    .chain((chain) => {
      const caip2 = caip2Of(chain) ?? '';
      const namespaceInCapitals = caip2.replace(/^[^:]+/, (namespace) => namespace.toUpperCase());
      return fc.constantFrom(chain.chainKey, chain.chainKey.toUpperCase(), caip2, namespaceInCapitals);
    })
    .filter((word) => word !== '');
  const tokenWord = fc
    .constantFrom(...someTokens)
    .chain((token) =>
      fc.constantFrom(
        `${token.chainKey}:${token.address}`,
        `${token.chainKey.toUpperCase()}:${token.address.toLowerCase()}`,
        caip19Of(chainOf(token.chainKey), token) ?? '',
      ),
    )
    .filter((word) => word !== '');

  function chainOf(chainKey: string): Chain | undefined {
    return someChains.find((chain) => chain.chainKey === chainKey);
  }
  function isChain(word: string, chainKey: string): boolean {
    const chain = chainOf(chainKey);
    const caip2 = word.replace(/^[^:]+/, (namespace) => namespace.toLowerCase());
    return word.toLowerCase() === chainKey || (chain !== undefined && caip2 === caip2Of(chain));
  }
  function isToken(word: string, { chainKey, address }: Token): boolean {
    const folded = address.toLowerCase();
    const caip19 = caip19Of(chainOf(chainKey), { address })?.toLowerCase();
    return word.toLowerCase() === `${chainKey}:${folded}` || word.toLowerCase() === caip19;
  }

  it('hide the rows that they name, and order the others', () => {
    fc.assert(
      fc.property(
        fc.option(fc.array(chainWord, { minLength: 1 })),
        fc.array(fc.oneof(chainWord, tokenWord), { maxLength: 4 }),
        (order, hidden) => {
          const text = [order ? `chains ${order.join(' ')}` : '', ...hidden.map((word) => `hide ${word}`)];
          const rules = resolved(text.join('\n'), someChains);
          const rankOf = (chainKey: string) => order?.findIndex((word) => isChain(word, chainKey)) ?? 0;
          const isShown = (chainKey: string) =>
            rankOf(chainKey) >= 0 && !hidden.some((word) => isChain(word, chainKey));
          const byRank = (a: { chainKey: string }, b: { chainKey: string }) =>
            rankOf(a.chainKey) - rankOf(b.chainKey);
          expect(rules.selectChains(someChains)).toEqual(
            someChains.filter(({ chainKey }) => isShown(chainKey)).toSorted(byRank),
          );
          const isShownToken = (token: Token) =>
            isShown(token.chainKey) && !hidden.some((word) => isToken(word, token));
          expect(rules.selectTokens(someTokens)).toEqual(someTokens.filter(isShownToken).toSorted(byRank));
          for (const token of someTokens) expect(rules.hides(token)).toBe(!isShownToken(token));
        },
      ),
      { numRuns: 300 },
    );
  });
});
