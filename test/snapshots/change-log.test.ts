/** The log of changes is bounded, and leads a client from any logged state to the present one. */
import { expect, it } from 'vitest';
import { createTokenSnapshot, type TokenSnapshot } from '../../src/snapshots/snapshot.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { tokenRow } from '../fixtures/rows.js';

async function snapshotOf(index: number, before?: TokenSnapshot): Promise<TokenSnapshot> {
  const fetched = await TOKENS.parse([tokenRow('a', `0x${index}`)], { source: 'v1', takenAt: index });
  return createTokenSnapshot(fetched, before);
}

it('the log of changes has the last 200 changes', async () => {
  let last = await snapshotOf(0);
  const cursors = [last.history.changes.cursor];
  for (let index = 1; index <= 200; index++) {
    last = await snapshotOf(index, last);
    cursors.push(last.history.changes.cursor);
  }
  expect(new Set(cursors).size).toBe(201);
  const changes = last.changesSince(cursors[0]);
  expect(changes).toMatchObject({ isReset: false, changed: last.rows });
  expect(changes.removed).toHaveLength(200);
  const later = await snapshotOf(201, last);
  expect(later.changesSince(cursors[0])).toMatchObject({ isReset: true, changed: later.rows, removed: [] });
  expect(later.changesSince(cursors[1])).toMatchObject({ isReset: false });
});
