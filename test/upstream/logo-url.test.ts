/** A logoUrl of the upstream is served only as an address that a page may load. */
import { expect, it } from 'vitest';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { startFakeSuccessor, startFakeUpstream } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

const SERVED: readonly [sent: string, served: string][] = [
  ['https://example.org/a.png', 'https://example.org/a.png'],
  ['HTTPS://Example.ORG/a.png', 'https://example.org/a.png'],
  ['https://example.org:443/x/../a.png', 'https://example.org/a.png'],
  ['http://example.org/a.png?b=c&d=%20#e', 'http://example.org/a.png?b=c&d=%20#e'],
  ['https://bücher.example/ä.png', 'https://xn--bcher-kva.example/%C3%A4.png'],
  ['https://localhost.example.org/a.png', 'https://localhost.example.org/a.png'],
];

const REFUSED: readonly unknown[] = [
  ...[undefined, null, '', 1, {}, 'a.png', '//example.org/a.png', 'data:image/svg+xml,<svg/>'],
  ...['javascript:alert(1)', 'JavaScript:alert(1)', 'ftp://example.org/a.png', 'ipfs://bafybei/a.png'],
  'blob:https://example.org/a',
  // With a user name, on local hosts, and at IP addresses.
  ...`user@example.org user:password@example.org :password@example.org localhost LOCALHOST. a.localhost printer.local
    a.internal metadata.google.internal router router.home.arpa 8.8.8.8 127.1
    2130706433 0x7f000001 0177.0.0.1 192.168.1.1 [::1] [::ffff:127.0.0.1] [2606:4700::1111] [fd00::1]`
    .split(/\s+/)
    .map((host) => `http://${host}/a.png`),
  // With characters of markup, and too long.
  ...['/"onerror="alert(1)', "/'", '/<svg>', '/a b.png', '/\u202egnp.a', '/\u0000', '\\@127.0.0.1/a.png']
    .concat(`/${'a'.repeat(2048)}`, `/${'ä'.repeat(1000)}`)
    .map((rest) => `https://example.org${rest}`),
  ' https://example.org/a.png',
];

const CASES: readonly (readonly [unknown, string | null])[] = [
  ...SERVED,
  ...REFUSED.map((sent) => [sent, null] as const),
];
const rows = CASES.map(([logoUrl], index) => ({ ...tokenRow('a', `0x${index + 1}`), logoUrl }));

it.each(['v1', 'value-transfer'] as const)(
  'a logoUrl from %s is served as a normalised address if pages may load it, and otherwise is null',
  async (upstreamProfile) => {
    const upstream =
      upstreamProfile === 'v1'
        ? await startFakeUpstream({ chains: [chainRow('a')], tokens: rows })
        : await startFakeSuccessor({
            chains: [successorChain(chainRow('a'))],
            tokens: rows.map(successorToken),
          });
    const { query } = await createTestGateway({ upstream, config: { upstreamProfile } });
    const { data } = await query<{ tokens: { logoUrl: string | null }[] }>('{ tokens { logoUrl } }');
    expect(CASES.map(([sent], index) => [sent, data?.tokens[index]?.logoUrl])).toEqual(CASES);
  },
);
