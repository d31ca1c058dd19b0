/** A stored listing is read whole or refused: none that is cut off, altered or from elsewhere is served. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { decodeListing, encodeListing } from '../../src/storage/stored-listing.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { tokenRow } from '../fixtures/rows.js';

const SERVICES = { v1: 'mark' };

async function listing(count: number) {
  const rows = Array.from({ length: count }, (_, index) => tokenRow('a', `0x${index.toString(16)}`));
  return TOKENS.parse(rows, { source: 'v1', takenAt: 1 });
}

function altered(stored: string, change: object, isDigestCorrected = true): string {
  const [head = '', json = ''] = stored.split('\n');
  const changed = JSON.stringify({ ...JSON.parse(json), ...change });
  const digest = createHash('sha256').update(changed).digest('hex');
  return `${isDigestCorrected ? head.replace(/\w+$/, digest) : head}\n${changed}`;
}

const wrong = tokenRow('a', '0x1', { decimals: 7 });
it.each<[string, string, (stored: string) => string]>([
  ['cut off in the middle', 'half written or altered', (stored) => stored.slice(0, -30)],
  ['of other bytes', 'not a listing of this gateway', () => '\u0080'.repeat(5_000)],
  ['of a newer format', 'of another format', (stored) => stored.replace('gateway 1 ', 'gateway 2 ')],
  ['altered', 'half written or altered', (stored) => altered(stored, { rows: [wrong] }, false)],
  [
    'the chains listing',
    'expected the tokens listing, got chains',
    (stored) => altered(stored, { name: 'chains' }),
  ],
  ['of another upstream', 'of another upstream', (stored) => altered(stored, { service: 'another' })],
  ['from the future', 'dated 86400 s in the future', (stored) => altered(stored, { takenAt: 86_400_001 })],
  [
    'with one bad row among good ones',
    '1 of its rows do not have the form',
    (stored) => altered(stored, { rows: [wrong, { ...wrong, chainKey: '' }] }),
  ],
  ['without a time', 'form of a stored listing', (stored) => altered(stored, { takenAt: undefined })],
])('a stored listing that is %s is refused', async (_name, reason, spoil) => {
  const stored = spoil((await encodeListing(TOKENS, await listing(1), SERVICES)).toString());
  await expect(decodeListing(TOKENS, Buffer.from(stored), SERVICES, 1)).rejects.toThrow(reason);
});

it('a stored listing keeps the age of its answer, and is refused if its request was sent in the future', async () => {
  const takenAt = Date.now() - 7_200_000;
  const decode = async (upstreamAgeMs: number) => {
    const fetched = { ...(await listing(1)), takenAt, upstreamAgeMs };
    return decodeListing(TOKENS, await encodeListing(TOKENS, fetched, SERVICES), SERVICES, Date.now());
  };
  expect(await decode(7_200_000)).toMatchObject({ takenAt, upstreamAgeMs: 7_200_000 });
  await expect(decode(7_300_000)).rejects.toThrow('s in the future');
});

it('a stored listing is read if an older gateway wrote it without the newer fields', async () => {
  const fetched = await listing(3);
  // As the first gateways wrote it: `logoUrl`, `heldBack`, ages, histories and the memory of the guard were added later.
  const rows = fetched.rows.map(({ isBridgeable, chainKey, address, decimals, symbol, name, price }) => {
    return { isBridgeable, chainKey, address, decimals, symbol, name, price };
  });
  const old = { source: 'v1', takenAt: 1, rejected: fetched.rejected, rows };
  const stored = await encodeListing(TOKENS, old as unknown as typeof fetched, SERVICES);
  expect(stored.toString()).not.toMatch(/logoUrl|heldBack|guard|history|upstreamAge/);
  expect((await decodeListing(TOKENS, stored, SERVICES, Date.now())).rows).toEqual(fetched.rows);
});
