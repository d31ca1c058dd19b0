/** The operator's rules are parsed whole or refused with the line, and select exactly the rows that they name. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { foldChainKey, NATIVE_PLACEHOLDER, tokenKey } from '../../src/domain/addresses.js';
import { caip2Of, caip19Of } from '../../src/domain/caip.js';
import type { Chain, GuardedFact, Token } from '../../src/domain/listing.js';
import { MAX_RULES, parseListingRules, resolveRules, ruleToPaste } from '../../src/domain/listing-rules.js';
import { CHAINS, TOKENS } from '../../src/upstream/listing-kinds.js';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { chainRow, USDC } from '../fixtures/rows.js';

const ORIGIN = { source: 'v1', takenAt: 0 };
const { rows: chains } = await CHAINS.parse(demoChains, ORIGIN);
const { rows: tokens } = await TOKENS.parse(demoTokens, ORIGIN);
const resolved = (text: string, known = chains) => resolveRules(parseListingRules(text), known);
const byKeys = (text: string) => resolved(text, []);

const acceptRule = (
  ...change: Parameters<typeof ruleToPaste> extends [unknown, ...infer Rest] ? Rest : never
) => ruleToPaste('accept', ...change);

it('rules distinguish tokens from identifiers of chains, and keep the letter case of case-sensitive addresses', () => {
  const mint = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
  const type = '0x1::aptos_coin::AptosCoin';
  const rules = resolved(`hide solana:${mint}\nhide aptos:${type}\nhide ethereum:0x${'0'.repeat(40)}`);
  // The zero address stands for the native asset.
  expect(rules.hides({ chainKey: 'ethereum', address: NATIVE_PLACEHOLDER })).toBe(true);
  expect(rules.hides({ chainKey: 'solana', address: mint })).toBe(true);
  expect(rules.hides({ chainKey: 'solana', address: mint.toLowerCase() })).toBe(false);
  expect(rules.hides({ chainKey: 'aptos', address: type })).toBe(true);
  expect(rules.hides({ chainKey: 'solana', address: '0x1' })).toBe(false);
  const all = resolved('hide solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp\nhide aptos:1');
  expect(all.hides({ chainKey: 'solana', address: '0x1' })).toBe(true);
  expect(all.hides({ chainKey: 'aptos', address: '0x1' })).toBe(true);
});

it('a rule by CAIP-2 applies to the chain that has the identifier in the listing', async () => {
  const rules = parseListingRules('hide eip155:77');
  const token = { chainKey: 'a', address: '0x1' };
  const of = async (...rows: unknown[]) => {
    const { rows: known } = await CHAINS.parse(rows, ORIGIN);
    return resolveRules(rules, known);
  };
  const none = resolveRules(rules, []);
  const one = await of(chainRow('a', { chainId: 77 }));
  const other = await of(chainRow('a', { chainId: 78 }), chainRow('b', { chainId: 77 }));
  expect([none, one, other].map((each) => each.hides(token))).toEqual([false, true, false]);
  expect(new Set([none, one, other].map(({ rows }) => rows)).size).toBe(3);
  expect((await of(chainRow('a', { chainId: 77 }), chainRow('c'))).rows).toBe(one.rows);
  // The number alone is not enough: the chain has another type.
  expect((await of(chainRow('a', { chainId: 77, chainType: 'solana' }))).hides(token)).toBe(false);
  // If two chains have one number, the last one counts.
  const twins = await of(chainRow('a', { chainId: 77 }), chainRow('c', { chainId: 77 }));
  expect(twins.hides(token)).toBe(false);
  expect(twins.hides({ ...token, chainKey: 'c' })).toBe(true);
});

it('rules name a native currency by any spelling of its address; of two that contradict each other once CAIP is resolved, keep decides', () => {
  const rules = resolved(`
      accept eip155:1 nativeCurrency "ETH 18 ${NATIVE_PLACEHOLDER}" "ETH 18 0xAB"
      accept eip155:1 chainId 1 5
      keep ethereum chainId 1
      keep base:${USDC} symbol USDC`);
  const zero = `ETH 18 0x${'0'.repeat(40)}`;
  expect(rules.verdictOn('ethereum', 'nativeCurrency', zero, 'ETH 18 0xab')).toBe('accept');
  expect(rules.verdictOn('ethereum', 'nativeCurrency', zero, 'ETH 6 0xab')).toBeUndefined();
  expect(rules.verdictOn('ethereum', 'chainId', '1', '5')).toBe('keep');
  // This change brings back the value that the rule keeps.
  expect(rules.verdictOn(tokenKey('base', USDC), 'symbol', 'usdc', 'USDC')).toBe('accept');
});

it('any rules hide the rows that they name, and order the others', () => {
  const someChains = chains.slice(0, 6);
  const someTokens = tokens.filter(({ chainKey }) => someChains.some((chain) => chain.chainKey === chainKey));
  type Word = readonly [word: string, chainKey: string, token?: Token];
  const chainWord: fc.Arbitrary<Word> = fc.constantFrom(...someChains).chain((chain) => {
    const caip2 = caip2Of(chain) ?? chain.chainKey;
    const namespaceInCapitals = caip2.replace(/^[^:]+(?=:)/, (namespace) => namespace.toUpperCase());
    const words = [chain.chainKey, chain.chainKey.toUpperCase(), caip2, namespaceInCapitals];
    return fc.constantFrom(...words).map((word) => [word, chain.chainKey] as const);
  });
  const tokenWord: fc.Arbitrary<Word> = fc.constantFrom(...someTokens).chain((token) => {
    const { chainKey, address } = token;
    const chain = someChains.find((each) => each.chainKey === chainKey);
    const byKey = `${chainKey}:${address}`;
    const inCapitals = `${chainKey.toUpperCase()}:${address.toLowerCase()}`;
    const byCaip2 = `${chain && caip2Of(chain)}:${address}`;
    const words = [byKey, inCapitals, caip19Of(chain, token) ?? byKey, byCaip2];
    return fc.constantFrom(...words).map((word) => [word, chainKey, token] as const);
  });
  const order = fc.option(fc.array(chainWord, { minLength: 1 }));
  const hidden = fc.array(fc.oneof(chainWord, tokenWord), { maxLength: 4 });
  fc.assert(
    fc.property(order, hidden, (ordered, hiding) => {
      const lines = [ordered ? `chains ${ordered.map(([word]) => word).join(' ')}` : ''];
      const rules = resolved([...lines, ...hiding.map(([word]) => `hide ${word}`)].join('\n'), someChains);
      const rankOf = (row: { chainKey: string }) =>
        ordered?.findIndex(([, chainKey]) => chainKey === row.chainKey) ?? 0;
      const isShown = (row: Chain | Token) =>
        rankOf(row) >= 0 &&
        !hiding.some(([, chainKey, token]) => (token ? token === row : chainKey === row.chainKey));
      const shown = <Row extends Chain | Token>(rows: readonly Row[]) =>
        rows.filter(isShown).toSorted((one, other) => rankOf(one) - rankOf(other));
      expect(rules.select(someChains)).toEqual(shown(someChains));
      expect(rules.select(someTokens)).toEqual(shown(someTokens));
      for (const token of someTokens) expect(rules.hides(token)).toBe(!isShown(token));
    }),
    { numRuns: 100 },
  );
});

function errorOf(text: string): string {
  try {
    parseListingRules(text);
  } catch (error) {
    return (error as Error).message;
  }
  return 'no error';
}

it('the text of rules has one rule a line, with comments, empty lines, Windows line ends and a byte order mark', () => {
  const rules = byKeys(
    [
      '\uFEFF# all comments',
      '',
      '  \t ',
      'hide gnosis # why',
      'hide\tbase:0x01#x   ',
      'keep celo chainId 42220',
    ].join('\r\n'),
  );

  expect(rules.hides({ chainKey: 'gnosis', address: '0x1' })).toBe(true);
  expect(rules.hides({ chainKey: 'celo', address: '0x1' })).toBe(false);
  // A "#" inside of a word is part of it.
  expect(rules.hides({ chainKey: 'base', address: '0x01#x' })).toBe(true);
  expect(rules.hides({ chainKey: 'base', address: '0x01' })).toBe(false);
  expect(rules.keptFacts('celo')).toEqual(new Map([['chainId', '42220']]));
});

it.each([
  ['show gnosis', 'a rule that begins with chains, hide, accept or keep; got "show gnosis"'],
  ['Hide gnosis', 'a rule that begins with'],
  ['hide', 'after "hide"; got "hide"'],
  ['hide gnosis celo', 'one chain (key or CAIP-2) or token (chain:address or CAIP-19) after "hide"'],
  ['hide :0x1', 'after "hide"'],
  ['hide ethereum:', 'after "hide"'],
  ['hide eip155:1/', 'after "hide"'],
  ['chains', 'after "chains"'],
  ['chains ethereum base:0x1', 'keys or CAIP-2 identifiers of chains after "chains"; got "base:0x1"'],
  ['hide "gnosis', 'to be a JSON string'],
  ['hide "gnosis"x', 'to be a JSON string'],
  ['hide "gno\\sis"', 'to be a JSON string'],
  [`accept ethereum:${USDC} decimals 6`, 'two different values after "accept"'],
  [`accept ethereum:${USDC} decimals 6 18 9`, 'two different values after "accept"'],
  [`accept ethereum:${USDC} decimals 6 256`, 'from 0 to 255 as the value of decimals; got "256"'],
  [`accept ethereum:${USDC} decimals 06 8`, 'a whole number from 0 to 255'],
  [`accept ethereum:${USDC} chainId 1 2`, 'a fact of this token: decimals, symbol, address; got "chainId"'],
  [`accept ethereum:${USDC} toString 1 2`, 'a fact of this token'],
  [`accept ethereum:${USDC} address 0x1 0x2`, "the token's own address as the first value"],
  [`keep ethereum:${USDC} address 0x1`, "the token's own address as the first value"],
  ['accept ethereum decimals 18 6', 'this chain: chainId, chainType, nativeCurrency; got "decimals"'],
  ['accept ethereum chainId 1 9007199254740992', 'a whole number of at most 2^53 - 1'],
  ['accept ethereum chainType EVM evm', 'two different values'],
  [`keep ethereum nativeCurrency "ETH 300 ${NATIVE_PLACEHOLDER}"`, 'symbol, decimals and address'],
  [`keep ethereum nativeCurrency ETH 18 ${NATIVE_PLACEHOLDER}`, 'one value after "keep"'],
  ['keep ethereum', 'a fact of this chain'],
])('the rule %s is an error that names the line', (line, message) => {
  const error = errorOf(`# first\n\nhide gnosis\n${line}\nhide celo`);
  expect(error).toMatch(/^line 4: expected .*; got ".*"$/);
  expect(error).toContain(message);
});

it('the text of rules is quoted in errors with at most 100 characters, and in ASCII', () => {
  const error = errorOf(`a\u202e\u0007\u2066"${'x'.repeat(500)}`);
  expect(error).toMatch(/got "a\\u202e\\u0007\\u2066\\"x{95}"$/);
  expect(error).toMatch(/^[ -~]+$/);
});

it.each([
  ['keep ethereum:0x1 decimals 6', 'keep ETHEREUM:0x1 decimals 8'],
  ['keep ethereum:0xAB decimals 6', 'accept ethereum:0xab decimals 6 18'],
  ['accept ethereum:0xab decimals 6 18', 'keep ethereum:0xAB decimals 6'],
  ['accept eip155:1/erc20:0xab decimals 6 18', 'keep EIP155:1/erc20:0xAB decimals 6'],
  ['keep base chainType evm', 'keep base chainType solana'],
  ['keep base nativeCurrency "ETH 18 0xAB"', 'accept base nativeCurrency "ETH 18 0xab" "ETH 6 0xab"'],
])('the rules %s and %s together are an error that names both lines', (one, other) => {
  expect(errorOf(`${one}\n\n${other}`)).toMatch(
    /^line 3: expected a rule that does not contradict line 1, which has "/,
  );
});

it.each([
  ['keep ethereum:0x1 decimals 6', 'keep ethereum:0x1 decimals 6'],
  ['keep ethereum:0x1 decimals 6', 'keep ethereum:0x1 symbol USDC'],
  ['keep ethereum:0x1 decimals 18', 'accept ethereum:0x1 decimals 6 18'],
  ['accept ethereum:0x1 decimals 6 18', 'accept ethereum:0x1 decimals 18 6'],
  ['keep base nativeCurrency "ETH 18 0xAB"', 'keep base nativeCurrency "ETH 18 0xab"'],
])('the rules %s and %s can stand together', (one, other) => {
  expect(parseListingRules(`${one}\n${other}`)).toHaveLength(2);
  expect(parseListingRules(`${other}\n${one}`)).toHaveLength(2);
});

it('the text of rules has at most 20,000 rules', () => {
  const rules = `accept ethereum:${USDC} decimals 6 18\n`.repeat(MAX_RULES);
  expect(parseListingRules(rules)).toHaveLength(MAX_RULES);
  expect(errorOf(`${rules}\n# a comment\nhide b`)).toBe(
    'line 20003: expected at most 20000 rules; got "hide b"',
  );
});

it('the rule to paste is missing if no rule fits, such as for a chain whose key looks like a CAIP identifier', () => {
  expect(acceptRule({ chainKey: 'eip155:1' }, 'chainId', '1', '5')).toBeUndefined();
  expect(acceptRule({ chainKey: 'eip155', address: '1' }, 'decimals', '6', '18')).toBeUndefined();
  expect(acceptRule({ chainKey: 'a:b', address: '0x1' }, 'decimals', '6', '18')).toBeUndefined();
  expect(acceptRule({ chainKey: 'a', address: '0x1' }, 'decimals', '6', '6')).toBeUndefined();
  expect(acceptRule({ chainKey: 'a', address: '0x1' }, 'decimals', '6', '18\nhide b')).toBeUndefined();
});

const texts = fc.oneof(
  // fast-check takes two seconds to make its unit `binary`.
  fc.string({ unit: fc.nat(0x10ffff).map((code) => String.fromCodePoint(code)) }),
  fc.string({ unit: fc.constantFrom(...'ab:/#"\\ \n\r\t\u00a0\u2028\ufeff\ud800') }),
);
const values: Readonly<Record<GuardedFact, fc.Arbitrary<string>>> = {
  decimals: fc.integer({ min: 0, max: 255 }).map(String),
  symbol: texts,
  address: texts.filter((text) => text !== ''),
  chainId: fc.maxSafeInteger().map(String),
  chainType: texts.map((text) => text.toLowerCase()).filter((text) => text !== ''),
  nativeCurrency: fc
    .tuple(texts, fc.integer({ min: 0, max: 255 }), fc.stringMatching(/^0x[0-9a-fA-F]{1,40}$/))
    .map((parts) => parts.join(' ')),
};
/** Keys of chains without colon and white space, which are not namespaces of CAIP. */
const keys = texts.filter((key) => key !== '' && !/[:\s]/.test(key) && !/^(eip155|tron)$/i.test(key));
const changes = fc
  .constantFrom(...(Object.keys(values) as GuardedFact[]))
  .chain((fact) => fc.record({ fact: fc.constant(fact), served: values[fact], upstream: values[fact] }));

it('the rule to paste accepts the change that it was made for, and no other', () => {
  fc.assert(
    fc.property(keys, values.address, changes, values.symbol, (chainKey, address, change, other) => {
      const { fact, served, upstream } = change;
      const isOfToken = ['decimals', 'symbol', 'address'].includes(fact);
      const own = fact === 'address' ? address : served;
      fc.pre(own.toLowerCase() !== upstream.toLowerCase());
      const rule = acceptRule(isOfToken ? { chainKey, address } : { chainKey }, fact, own, upstream) ?? '';
      expect(rule).toMatch(/^[ -~]+$/);
      const rules = byKeys(`hide a\n${rule} # now\r\n`);
      const key = isOfToken ? tokenKey(chainKey, address) : foldChainKey(chainKey);
      expect(rules.verdictOn(key, fact, own, upstream)).toBe('accept');
      expect(rules.verdictOn(key, fact, upstream, own)).toBeUndefined();
      expect(rules.verdictOn(`${key}x`, fact, own, upstream)).toBeUndefined();
      fc.pre(other.toLowerCase() !== upstream.toLowerCase());
      expect(rules.verdictOn(key, fact, own, other)).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});
