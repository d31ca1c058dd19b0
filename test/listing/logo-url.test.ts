import { describe, expect, it } from 'vitest';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { startFakeSuccessor } from '../support/fake-successor.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

const SERVED: readonly [sent: string, served: string][] = [
  ['https://example.org/a.png', 'https://example.org/a.png'],
  ['HTTPS://Example.ORG/a.png', 'https://example.org/a.png'],
  ['https://example.org:443/x/../a.png', 'https://example.org/a.png'],
  ['http://example.org/a.png?b=c&d=%20#e', 'http://example.org/a.png?b=c&d=%20#e'],
  ['https://bücher.example/ä.png', 'https://xn--bcher-kva.example/%C3%A4.png'],
  ['https://8.8.8.8/a.png', 'https://8.8.8.8/a.png'],
  ['https://[2606:4700::1111]/a.png', 'https://[2606:4700::1111]/a.png'],
  ['https://localhost.example.org/a.png', 'https://localhost.example.org/a.png'],
];

const REFUSED: readonly unknown[] = [
  '',
  1,
  {},
  'a.png',
  '//example.org/a.png',
  'javascript:alert(1)',
  'data:image/svg+xml,<svg/>',
  'ftp://example.org/a.png',
  'blob:https://example.org/a',
  'ipfs://bafybei/a.png',
  'https://user@example.org/a.png',
  'https://user:password@example.org/a.png',
  'https://:password@example.org/a.png',
  'https://localhost/a.png',
  'https://LOCALHOST./a.png',
  'https://a.localhost/a.png',
  'https://printer.local/a.png',
  'https://a.internal/a.png',
  'https://metadata.google.internal/a.png',
  'https://router/a.png',
  'https://router.home.arpa/a.png',
  'http://127.0.0.1/a.png',
  'http://127.1/a.png',
  'http://2130706433/a.png',
  'http://0x7f000001/a.png',
  'http://0177.0.0.1/a.png',
  'http://0.0.0.0/a.png',
  'http://10.1.2.3/a.png',
  'http://100.64.0.1/a.png',
  'http://169.254.169.254/latest/meta-data',
  'http://172.31.255.255/a.png',
  'http://192.168.1.1/a.png',
  'http://224.0.0.1/a.png',
  'http://255.255.255.255/a.png',
  'http://[::]/a.png',
  'http://[::1]/a.png',
  'http://[::ffff:127.0.0.1]/a.png',
  'http://[::ffff:a00:1]/a.png',
  'http://[::127.0.0.1]/a.png',
  'http://[64:ff9b::7f00:1]/a.png',
  'http://[2002:7f00:1::]/a.png',
  'http://[fe80::1]/a.png',
  'http://[fd00::1]/a.png',
  'http://[ff02::1]/a.png',
  'https://example.org/"onerror="alert(1)',
  "https://example.org/'",
  'https://example.org/<svg>',
  'https://example.org/a b.png',
  'https://example.org/\u202egnp.a',
  'https://example.org/\u0000',
  ' https://example.org/a.png',
  'https://example.org\\@127.0.0.1/a.png',
  `https://example.org/${'a'.repeat(2048)}`,
  `https://example.org/${'ä'.repeat(1000)}`,
];

const CASES: readonly (readonly [unknown, string | null])[] = [
  ...SERVED,
  ...REFUSED.map((sent) => [sent, null] as const),
];
const rows = CASES.map(([logoUrl], index) => ({ ...tokenRow('a', `0x${index + 1}`), logoUrl }));

async function pictures(profile: 'v1' | 'value-transfer') {
  const upstream =
    profile === 'v1'
      ? await startFakeUpstream({ chains: [chainRow('a')], tokens: rows })
      : await startFakeSuccessor({
          chains: [successorChain(chainRow('a'))],
          tokens: rows.map(successorToken),
        });
  const { query } = await createTestGateway({ upstream, config: { upstreamProfile: profile } });
  const { data } = await query<{ tokens: { logoUrl: string | null }[] }>('{ tokens { logoUrl } }');
  return data?.tokens.map(({ logoUrl }) => logoUrl) ?? [];
}

describe.each(['v1', 'value-transfer'] as const)('a picture from %s', (profile) => {
  it('is served by its address in one form, where a page may load it, and otherwise not at all', async () => {
    const served = await pictures(profile);
    expect(CASES.map(([sent], index) => [sent, served[index]])).toEqual(CASES);
  });
});
