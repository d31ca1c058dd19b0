import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NATIVE_PLACEHOLDER, tokenKey } from '../../src/domain/addresses.js';
import type { GuardedFact } from '../../src/domain/listing.js';
import { MAX_RULES, parseListingRules, ruleToPaste } from '../../src/domain/listing-rules.js';

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const USDC_KEY = tokenKey('ethereum', USDC);

const acceptRule = (
  ...change: Parameters<typeof ruleToPaste> extends [unknown, ...infer Rest] ? Rest : never
) => ruleToPaste('accept', ...change);

/** The rules, resolved without a known chain. */
const resolved = (text: string) => parseListingRules(text).resolve(() => []);

/** The error of a text of rules. */
function errorOf(text: string): string {
  try {
    parseListingRules(text);
  } catch (error) {
    return error instanceof Error ? error.message : 'no Error';
  }
  return 'no error';
}

/** The milliseconds of CPU time that this takes. */
function cpuMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('the text of rules', () => {
  it('has one rule a line, with comments, empty lines, Windows line ends and a byte order mark', () => {
    const rules = resolved(
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

  it('can be empty', () => {
    for (const text of ['', '\n\n', '# nothing']) expect(parseListingRules(text).size).toBe(0);
  });

  it('has words with white space, quotes and "#" as JSON strings', () => {
    const rules = resolved(
      'accept ethereum:0x01 symbol "A \\"B\\" \\u0421" "#C"\nhide "my chain:0x02 3"\nkeep base:0x1 symbol ""',
    );
    expect(rules.verdictOn(tokenKey('ethereum', '0x01'), 'symbol', 'A "B" С', '#C')).toBe('accept');
    expect(rules.hides({ chainKey: 'my chain', address: '0x02 3' })).toBe(true);
    expect(rules.verdictOn(tokenKey('base', '0x1'), 'symbol', '', 'X')).toBe('keep');
  });

  it.each([
    ['show gnosis', 'a rule that begins with chains, hide, accept or keep; got "show gnosis"'],
    ['Hide gnosis', 'a rule that begins with'],
    ['hide', 'after "hide"; got "hide"'],
    ['hide gnosis celo', 'one chain (key or CAIP-2) or token (chain:address or CAIP-19) after "hide"'],
    ['hide :0x1', 'after "hide"'],
    ['hide ethereum:', 'after "hide"'],
    ['hide ""', 'after "hide"'],
    ['hide eip155:1/erc20', 'after "hide"'],
    ['hide eip155:1/erc20:', 'after "hide"'],
    ['hide eip155:1/', 'after "hide"'],
    ['chains', 'after "chains"'],
    ['chains ethereum base:0x1', 'keys or CAIP-2 identifiers of chains after "chains"; got "base:0x1"'],
    ['hide "gnosis', 'to be a JSON string'],
    ['hide "gnosis"x', 'to be a JSON string'],
    ['hide "gno\\sis"', 'to be a JSON string'],
    ['hide "a\tb"', 'to be a JSON string'],
    [`accept ethereum:${USDC} decimals 6`, 'two different values after "accept"'],
    [`accept ethereum:${USDC} decimals 6 6`, 'two different values after "accept"'],
    [`accept ethereum:${USDC} decimals 6 18 9`, 'two different values after "accept"'],
    [
      `accept ethereum:${USDC} decimals 6 256`,
      'a whole number from 0 to 255 as the value of decimals; got "256"',
    ],
    [`accept ethereum:${USDC} decimals 6 -1`, 'a whole number from 0 to 255'],
    [`accept ethereum:${USDC} decimals 06 8`, 'a whole number from 0 to 255'],
    [`accept ethereum:${USDC} decimals 6 1e1`, 'a whole number from 0 to 255'],
    [`accept ethereum:${USDC} chainId 1 2`, 'a fact of this token: decimals, symbol, address; got "chainId"'],
    [`accept ethereum:${USDC} toString 1 2`, 'a fact of this token'],
    [`accept ethereum:${USDC} address 0x1 0x2`, "the token's own address as the first value"],
    [`keep ethereum:${USDC} address 0x1`, "the token's own address as the first value"],
    [
      'accept ethereum decimals 18 6',
      'a fact of this chain: chainId, chainType, nativeCurrency; got "decimals"',
    ],
    ['accept eip155:1 decimals 18 6', 'a fact of this chain'],
    ['accept ethereum chainId 1 9007199254740992', 'a whole number of at most 2^53 - 1'],
    ['accept ethereum chainId 1 -0', 'a whole number of at most 2^53 - 1'],
    ['accept ethereum chainType EVM evm', 'two different values'],
    [`keep ethereum nativeCurrency "ETH ${NATIVE_PLACEHOLDER}"`, 'symbol, decimals and address'],
    [`keep ethereum nativeCurrency "ETH 300 ${NATIVE_PLACEHOLDER}"`, 'symbol, decimals and address'],
    [`keep ethereum nativeCurrency ETH 18 ${NATIVE_PLACEHOLDER}`, 'one value after "keep"'],
    ['keep ethereum', 'a fact of this chain'],
    ['keep', 'after "keep"'],
  ])('%s is an error that names the line', (line, message) => {
    const error = errorOf(`# first\n\nhide gnosis\n${line}\nhide celo`);
    expect(error).toMatch(/^line 4: expected .*; got ".*"$/);
    expect(error).toContain(message);
  });

  it('shows at most 100 characters of an error, all of them ASCII', () => {
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
  ])('with %s and %s is an error that names both lines', (one, other) => {
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
  ])('may have %s and %s', (one, other) => {
    expect(parseListingRules(`${one}\n${other}`).size).toBe(2);
    expect(parseListingRules(`${other}\n${one}`).size).toBe(2);
  });

  it('has at most two megabytes and 20,000 rules', () => {
    const rules = `accept ethereum:${USDC} decimals 6 18\n`.repeat(MAX_RULES);
    expect(parseListingRules(rules).size).toBe(20_000);
    expect(errorOf(`${rules}\n# a comment\nhide b`)).toBe(
      'line 20003: expected at most 20000 rules; got "hide b"',
    );
    expect(errorOf('#'.repeat(2 ** 21 + 1))).toBe('expected at most 2097152 characters, got 2097153');
    expect(parseListingRules('#'.repeat(2 ** 21)).size).toBe(0);
  });

  it('names a token by any text with a colon that is no identifier of a chain', () => {
    expect(parseListingRules('keep eip155:abc:1 decimals 6').size).toBe(1);
    expect(errorOf('keep eip155:1 decimals 6')).toContain('expected a fact of this chain');
  });

  it.each([
    ['line ends', '\n'.repeat(2 ** 21)],
    ['spaces', ' '.repeat(2 ** 21)],
    ['quotes', '"'.repeat(2 ** 21)],
    ['escapes', `"${'\\'.repeat(2 ** 21 - 1)}`],
    ['one word', `hide ${'a'.repeat(2 ** 21 - 5)}`],
    ['chains', `chains ${'a '.repeat(2 ** 20 - 4)}`],
    ['colons', `hide ${':'.repeat(2 ** 21 - 5)}`],
    [
      'accepted changes of one fact',
      Array.from({ length: 20_000 }, (_, at) => `accept a:b symbol x ${at}`).join('\n'),
    ],
    ['kept facts', 'keep a:b symbol x\n'.repeat(20_000)],
    ['spaces in a native currency', `keep a nativeCurrency "${'1 '.repeat(2 ** 20 - 100)}"`],
  ])('is parsed in linear time: two megabytes of %s', (_name, text) => {
    expect(cpuMs(() => errorOf(text))).toBeLessThan(2_000);
  });
});

describe('the rule to paste', () => {
  it('has quotes only where they are needed', () => {
    expect(acceptRule({ chainKey: 'ethereum', address: USDC }, 'decimals', '6', '18')).toBe(
      `accept ethereum:${USDC} decimals 6 18`,
    );
    expect(acceptRule({ chainKey: 'base' }, 'nativeCurrency', 'ETH 18 0xE', 'ETH 6 0xE')).toBe(
      'accept base nativeCurrency "ETH 18 0xE" "ETH 6 0xE"',
    );
  });

  it('shows look-alike and invisible letters', () => {
    expect(acceptRule({ chainKey: 'a', address: '0x1' }, 'symbol', 'USDC', 'USD\u0421')).toBe(
      'accept a:0x1 symbol USDC "USD\\u0421"',
    );
    expect(acceptRule({ chainKey: 'a', address: '0x1' }, 'symbol', '', '\u202ex')).toBe(
      'accept a:0x1 symbol "" "\\u202ex"',
    );
  });

  it('is missing if no rule can express it, such as for a chain whose key looks like a CAIP identifier', () => {
    expect(acceptRule({ chainKey: 'eip155:1' }, 'chainId', '1', '5')).toBeUndefined();
    expect(acceptRule({ chainKey: 'eip155', address: '1' }, 'decimals', '6', '18')).toBeUndefined();
    expect(acceptRule({ chainKey: 'a:b', address: '0x1' }, 'decimals', '6', '18')).toBeUndefined();
    expect(acceptRule({ chainKey: 'a', address: '0x1' }, 'decimals', '6', '6')).toBeUndefined();
    expect(acceptRule({ chainKey: 'a', address: '0x1' }, 'decimals', '6', '18\nhide b')).toBeUndefined();
  });

  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
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
  /** Not a CAIP namespace, and without a colon. */
  const keys = texts.filter((key) => key !== '' && !/[:\s]/.test(key) && !/^(eip155|tron)$/i.test(key));
  const changes = fc
    .constantFrom(...(Object.keys(values) as GuardedFact[]))
    .chain((fact) => fc.record({ fact: fc.constant(fact), served: values[fact], upstream: values[fact] }));

  it('accepts this change and no other', () => {
    fc.assert(
      fc.property(keys, values.address, changes, values.symbol, (chainKey, address, change, other) => {
        const { fact, served, upstream } = change;
        const isOfToken = ['decimals', 'symbol', 'address'].includes(fact);
        const own = fact === 'address' ? address : served;
        fc.pre(own.toLowerCase() !== upstream.toLowerCase());
        const rule = acceptRule(isOfToken ? { chainKey, address } : { chainKey }, fact, own, upstream);
        if (rule === undefined)
          expect.unreachable(`no rule for ${JSON.stringify([chainKey, address, change])}`);
        expect(rule).toMatch(/^[ -~]+$/);
        const rules = resolved(`hide a\n${rule} # now\r\n`);
        const key = isOfToken ? tokenKey(chainKey, address) : chainKey;
        expect(rules.verdictOn(key, fact, own, upstream)).toBe('accept');
        expect(rules.verdictOn(key, fact, upstream, own)).toBeUndefined();
        expect(rules.verdictOn(`${key}x`, fact, own, upstream)).toBeUndefined();
        fc.pre(other.toLowerCase() !== upstream.toLowerCase());
        expect(rules.verdictOn(key, fact, own, other)).toBeUndefined();
      }),
      { numRuns: 1_000 },
    );
  });

  it('with any text of an upstream accepts that change, or is missing', () => {
    fc.assert(
      fc.property(
        texts,
        fc.option(texts, { nil: undefined }),
        texts,
        texts,
        (chainKey, address, served, upstream) => {
          const row = address === undefined ? { chainKey } : { chainKey, address };
          const fact = address === undefined ? 'chainType' : 'symbol';
          const rule = acceptRule(row, fact, served, upstream);
          fc.pre(rule !== undefined);
          const rules = resolved(rule ?? '');
          expect(parseListingRules(rule ?? '').size).toBe(1);
          const key = address === undefined ? chainKey : tokenKey(chainKey, address);
          expect(rules.verdictOn(key, fact, served, upstream)).toBe('accept');
        },
      ),
      { numRuns: 500 },
    );
  });

  it('about the address of a token begins with its present address', () => {
    expect(acceptRule({ chainKey: 'ethereum', address: USDC }, 'address', USDC, '0x2')).toBe(
      `accept ethereum:${USDC} address ${USDC} 0x2`,
    );
    expect(
      resolved(`accept ethereum:${USDC.toLowerCase()} address ${USDC} 0xAB`).verdictOn(
        USDC_KEY,
        'address',
        USDC,
        '0xab',
      ),
    ).toBe('accept');
  });
});
