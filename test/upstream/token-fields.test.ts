/**
 * The upstream may leave out some fields of a token, or send them in another form. For each such field and value, a table
 * has the value that the gateway serves, with both services. A new field of this kind gets an entry in `FIELDS`. Values
 * that reject the whole row are in `rows.test.ts`.
 */
import { expect, it } from 'vitest';
import { CHAINS, TOKENS } from '../../src/upstream/listing-kinds.js';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { startFakeSuccessor, startFakeUpstream } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

type Case = readonly [sent: unknown, served: unknown];
/** `undefined`: the upstream leaves the field out. */
const allAs = (served: unknown, sent: readonly unknown[]): readonly Case[] =>
  sent.map((each) => [each, served]);

/** By field: the selection in the query, if it is more than the name, and the values. */
const FIELDS: Readonly<Record<string, { readonly selection?: string; readonly cases: readonly Case[] }>> = {
  isBridgeable: { cases: [[true, true], ...allAs(false, [false, undefined])] },
  symbol: { cases: [['USDC', 'USDC'], ...allAs('', ['', undefined])] },
  name: { cases: [['USD Coin', 'USD Coin'], ...allAs('', ['', undefined])] },
  price: {
    selection: 'price { usd }',
    cases: [
      [{ usd: 0.5, more: 1 }, { usd: 0.5 }],
      [{ usd: 1_000_000_000 }, { usd: 1_000_000_000 }],
      ...allAs(null, [undefined, null, 1, {}, ...['1', null, -1, 0, 1_000_000_001].map((usd) => ({ usd }))]),
    ],
  },
  logoUrl: {
    cases: [
      ['https://example.org/a.png', 'https://example.org/a.png'],
      ['HTTPS://Example.ORG/a.png', 'https://example.org/a.png'],
      ['https://example.org:443/x/../a.png', 'https://example.org/a.png'],
      ['http://example.org/a.png?b=c&d=%20#e', 'http://example.org/a.png?b=c&d=%20#e'],
      ['https://bücher.example/ä.png', 'https://xn--bcher-kva.example/%C3%A4.png'],
      ['https://localhost.example.org/a.png', 'https://localhost.example.org/a.png'],
      ...allAs(null, [undefined, null, '', 1, {}, 'a.png', '//example.org/a.png']),
      ...allAs(null, ['javascript:alert(1)', 'JavaScript:alert(1)', 'data:image/svg+xml,<svg/>']),
      ...allAs(null, ['ftp://example.org/a.png', 'ipfs://bafybei/a.png', 'blob:https://example.org/a']),
      // With a user name, on local hosts, and at IP addresses.
      ...`user@example.org user:password@example.org :password@example.org localhost LOCALHOST. a.localhost printer.local
        a.internal metadata.google.internal router router.home.arpa 8.8.8.8 127.1
        2130706433 0x7f000001 0177.0.0.1 192.168.1.1 [::1] [::ffff:127.0.0.1] [2606:4700::1111] [fd00::1]`
        .split(/\s+/)
        .flatMap((host) => allAs(null, [`http://${host}/a.png`])),
      // With characters of markup, and too long.
      ...['/"onerror="alert(1)', "/'", '/<svg>', '/a b.png', '/\u202egnp.a', '/\u0000', '\\@127.0.0.1/a.png']
        .concat(`/${'a'.repeat(2048)}`, `/${'ä'.repeat(1000)}`)
        .flatMap((rest) => allAs(null, [`https://example.org${rest}`])),
      [' https://example.org/a.png', null],
    ],
  },
};

/** Their tests: `rows.test.ts` for the identity of a row, `test/snapshots` for guarded values. */
const OTHER_FIELDS = ['chainKey', 'address', 'decimals', 'heldBack'];

const parsed = async (row: object) => {
  const { rows } = await TOKENS.parse([tokenRow('a', '0x1'), row], { source: 'v1', takenAt: 0 });
  return rows;
};

it('each field of a token has an entry here', async () => {
  const [row = {}] = await parsed({});
  expect(Object.keys(row).toSorted()).toEqual([...Object.keys(FIELDS), ...OTHER_FIELDS].toSorted());
});

it.each(Object.keys(FIELDS))('no text in Token.%s is kept at any length', async (field) => {
  const long = 'a'.repeat(10_000);
  for (const value of [long, { text: long }, [long]]) {
    const rows = await parsed({ ...tokenRow('a', '0x2'), [field]: value });
    expect(JSON.stringify(rows)).not.toContain(long);
  }
});

const START = {
  v1: startFakeUpstream,
  'value-transfer': ({ chains, tokens }: { chains: ReturnType<typeof chainRow>[]; tokens: Token[] }) =>
    startFakeSuccessor({ chains: chains.map(successorChain), tokens: tokens.map(successorToken) }),
};
type Token = ReturnType<typeof tokenRow>;

const PROFILES = ['v1', 'value-transfer'] as const;

it.each(
  Object.keys(FIELDS).flatMap((field) =>
    PROFILES.map((upstreamProfile) => [field, upstreamProfile] as const),
  ),
)('Token.%s is served as its entry says, from %s', async (field, upstreamProfile) => {
  const { selection = field, cases = [] } = FIELDS[field] ?? {};
  // Each token has a symbol of its own, because the prices of one symbol are compared with each other.
  const tokens = cases.map(([sent], nth) => ({
    ...tokenRow('a', `0x${nth + 1}`, { symbol: `T${nth}` }),
    [field]: sent,
  }));
  const upstream = await START[upstreamProfile]({ chains: [chainRow('a')], tokens });
  const { query } = await createTestGateway({ upstream, config: { upstreamProfile } });
  const { data } = await query<{ tokens: Record<string, unknown>[] }>(`{ tokens { ${selection} } }`);
  expect(cases.map(([sent], nth) => [sent, data?.tokens[nth]?.[field]])).toEqual(cases);
});

it('a field without a value that a later version adds does not count as a change of the row', async () => {
  const [token] = await parsed({});
  const { rows } = await CHAINS.parse([chainRow('a')], { source: 'v1', takenAt: 0 });
  for (const value of [null, 'new']) {
    const isChanged = value !== null;
    const [laterToken, laterChain] = [token, rows[0]].map((row) => ({ ...row, added: value }));
    expect(TOKENS.contentOf(laterToken as never) !== TOKENS.contentOf(token as never)).toBe(isChanged);
    expect(CHAINS.contentOf(laterChain as never) !== CHAINS.contentOf(rows[0] as never)).toBe(isChanged);
  }
});
