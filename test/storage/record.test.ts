import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Token } from '../../src/domain/listing.js';
import { decodeRecord, encodeRecord } from '../../src/storage/record.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { tokenRow } from '../fixtures/rows.js';

const SERVICES = { v1: 'mark' };

async function listing(count: number) {
  const rows = Array.from({ length: count }, (_, index) => tokenRow('a', `0x${index.toString(16)}`));
  return TOKENS.parse(rows, { source: 'v1', takenAt: 1 });
}

describe('a snapshot', () => {
  it('is turned into text once for disk and Redis', async () => {
    const fetched = await listing(250);
    let encoded = 0;
    const counted = fetched.rows.map(
      (row): Token =>
        Object.defineProperty({ ...row }, 'toJSON', {
          value: () => {
            encoded++;
            return row;
          },
        }),
    );
    const snapshot = { ...fetched, rows: counted };
    const [disk, redis] = await Promise.all([
      encodeRecord(TOKENS, { ...snapshot, largest: { rows: 300, at: 1 } }, SERVICES),
      encodeRecord(TOKENS, snapshot, SERVICES),
    ]);
    // As for peers that come when Redis has lost it.
    await encodeRecord(TOKENS, snapshot, SERVICES);
    expect(encoded).toBe(250);
    const decode = (parts: readonly Buffer[]) =>
      decodeRecord(TOKENS, Buffer.concat(parts), SERVICES, Date.now());
    expect(await decode(disk)).toMatchObject({ rows: fetched.rows, largest: { rows: 300 } });
    expect((await decode(redis)).rows).toEqual(fetched.rows);
  });

  it('keeps how old the answer was, and is from the future by when it was requested', async () => {
    const takenAt = Date.now() - 7_200_000;
    const decode = async (upstreamAgeMs: number) => {
      const fetched = { ...(await listing(1)), takenAt, upstreamAgeMs };
      const record = Buffer.concat(await encodeRecord(TOKENS, fetched, SERVICES));
      return decodeRecord(TOKENS, record, SERVICES, Date.now());
    };
    expect(await decode(7_200_000)).toMatchObject({ takenAt, upstreamAgeMs: 7_200_000 });
    await expect(decode(7_300_000)).rejects.toThrow('s in the future');
  });

  it('gives the same bytes as if it were encoded at once', async () => {
    for (const count of [1, 100, 101]) {
      const fetched = await listing(count);
      const { rows, rejected } = fetched;
      const json = JSON.stringify({
        name: 'tokens',
        source: 'v1',
        service: 'mark',
        takenAt: 1,
        rejected,
        rows,
      });
      const record = Buffer.concat(await encodeRecord(TOKENS, fetched, SERVICES)).toString();
      expect(record.slice(record.indexOf('\n') + 1)).toBe(json);
    }
  });

  it('lets requests have their turn while it is encoded and decoded', async () => {
    const fetched = await listing(20_000);
    const [parts, turnsToEncode] = await countingTurns(encodeRecord(TOKENS, fetched, SERVICES));
    // None of them is so long that to copy it takes time.
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(100_000);
    const record = Buffer.concat(parts);
    const [decoded, turnsToDecode] = await countingTurns(decodeRecord(TOKENS, record, SERVICES, Date.now()));
    expect(decoded.rows).toEqual(fetched.rows);
    expect(turnsToEncode).toBeGreaterThan(2);
    expect(turnsToDecode).toBeGreaterThan(2);
  });
});

/** The result of the work, and how many turns the event loop has taken meanwhile. */
async function countingTurns<Result>(work: Promise<Result>): Promise<[Result, number]> {
  let isOver = false;
  let turns = 0;
  const result = work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await setImmediate();
    turns++;
  }
  return [await result, turns];
}
