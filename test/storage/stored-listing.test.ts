import { describe, expect, it } from 'vitest';
import { decodeListing, encodeListing } from '../../src/storage/stored-listing.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { tokenRow } from '../fixtures/rows.js';

const SERVICES = { v1: 'mark' };

async function listing(count: number) {
  const rows = Array.from({ length: count }, (_, index) => tokenRow('a', `0x${index.toString(16)}`));
  return TOKENS.parse(rows, { source: 'v1', takenAt: 1 });
}

describe('a stored listing', () => {
  it('keeps the age of the answer, and is refused as from the future by the time of its request', async () => {
    const takenAt = Date.now() - 7_200_000;
    const decode = async (upstreamAgeMs: number) => {
      const fetched = { ...(await listing(1)), takenAt, upstreamAgeMs };
      return decodeListing(TOKENS, await encodeListing(TOKENS, fetched, SERVICES), SERVICES, Date.now());
    };
    expect(await decode(7_200_000)).toMatchObject({ takenAt, upstreamAgeMs: 7_200_000 });
    await expect(decode(7_300_000)).rejects.toThrow('s in the future');
  });

  it('is read if an older gateway wrote it without the newer fields', async () => {
    const fetched = await listing(3);
    // As the first gateways wrote it: `logoUrl`, `heldBack`, ages, histories and the memory of the guard were added later.
    const rows = fetched.rows.map(({ logoUrl, heldBack, ...row }) => row);
    const old = { source: 'v1', takenAt: 1, rejected: fetched.rejected, rows };
    const stored = await encodeListing(TOKENS, old as unknown as typeof fetched, SERVICES);
    expect(stored.toString()).not.toMatch(/logoUrl|heldBack|guard|history|upstreamAge/);
    expect((await decodeListing(TOKENS, stored, SERVICES, Date.now())).rows).toEqual(fetched.rows);
  });
});
