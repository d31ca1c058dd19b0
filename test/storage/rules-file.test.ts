/** A file of rules is read again whenever it changes, and a bad one leaves the last rules in force. */
import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { type ListingRules, resolveRules } from '../../src/domain/listing-rules.js';
import { openRulesFile } from '../../src/storage/rules-file.js';
import { temporaryDirectory, temporaryFile } from '../support/ends.js';
import { createTestLog } from '../support/test-gateway.js';

/** Long enough for a busy machine to poll twice in this time. */
const SETTLE_MS = 40;
/** Long enough for several polls of the file. */
const SOME_LOOKS_MS = 300;

const hiddenBy = (rules: ListingRules) =>
  ['a', 'b', 'c'].filter((chainKey) => resolveRules(rules, []).hides({ chainKey, address: '0x1' }));

async function watch(path: string, settleMs = SETTLE_MS) {
  const { log, logged } = await createTestLog();
  const changes: string[][] = [];
  const file = await openRulesFile(path, (rules) => changes.push([...hiddenBy(rules)]), log, settleMs);
  onTestFinished(file.close);
  return { file, changes, hidden: () => hiddenBy(file.rules), logged };
}

it('a file of rules is read at once, and again when it is written or another file replaces it, as editors do', async () => {
  const path = temporaryFile('hide a');
  const { hidden, changes, logged } = await watch(path);
  expect(hidden()).toEqual(['a']);
  writeFileSync(path, 'hide b\nhide c');
  await expect.poll(() => changes).toEqual([['b', 'c']]);
  expect(hidden()).toEqual(['b', 'c']);
  for (const key of ['c', 'a']) {
    writeFileSync(`${path}.new`, `hide ${key}`);
    // The second new file has the same time and length as the first.
    utimesSync(`${path}.new`, 1, 1);
    renameSync(`${path}.new`, path);
    await expect.poll(() => changes.at(-1)).toEqual([key]);
  }
  writeFileSync(path, '');
  await expect.poll(() => changes).toEqual([['b', 'c'], ['c'], ['a'], []]);
  const line = { level: 'info', msg: expect.stringMatching(/^LISTING_RULES has changed/) };
  expect(logged).toMatchObject([2, 1, 1, 0].map((rules) => ({ ...line, rules })));
});

it('a file in place of the rules that has more bytes than the process may take is refused before it is read', async () => {
  const path = temporaryFile('hide a');
  const { hidden, logged } = await watch(path);
  const before = process.resourceUsage().maxRSS;
  truncateSync(path, 2 ** 30);
  await expect
    .poll(() => logged)
    .toMatchObject([{ reason: expect.stringMatching(/at most 2097152 bytes, got 1073741824/) }]);
  expect(process.resourceUsage().maxRSS - before).toBeLessThan(300_000);
  expect(hidden()).toEqual(['a']);
});

it('a file of rules is read again when a link on its path changes, as in Kubernetes', async () => {
  const folder = temporaryDirectory();
  const put = (version: string, text: string) => {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'rules.txt'), text);
    symlinkSync(version, join(folder, '..data.new'));
    renameSync(join(folder, '..data.new'), join(folder, '..data'));
  };
  put('..1', 'hide a');
  symlinkSync('..data/rules.txt', join(folder, 'rules.txt'));
  const { changes, hidden } = await watch(join(folder, 'rules.txt'));
  expect(hidden()).toEqual(['a']);
  put('..2', 'hide b');
  await expect.poll(() => changes).toEqual([['b']]);
  rmSync(join(folder, '..1'), { recursive: true });
  put('..3', 'hide c');
  await expect.poll(() => changes).toEqual([['b'], ['c']]);
});

it('a file of rules is not read while it is being written', async () => {
  const path = temporaryFile('hide a');
  // One second, as in production, so that a busy machine, which delays the writes, does not look like their end.
  const { changes } = await watch(path, 1_000);
  truncateSync(path);
  for (let written = 0; written < 50; written++) {
    appendFileSync(path, '# a comment\n');
    await sleep(50);
  }
  appendFileSync(path, 'hide b\nhide c\n');
  await expect.poll(() => changes, { timeout: 10_000 }).toEqual([['b', 'c']]);
});

it('a file of rules is not read after close, and changes nothing when only its times change', async () => {
  const path = temporaryFile('hide a');
  const { file, changes, logged, hidden } = await watch(path);
  utimesSync(path, 1, 1);
  await sleep(SOME_LOOKS_MS);
  file.close();
  writeFileSync(path, 'hide b');
  await sleep(SOME_LOOKS_MS);
  expect({ changes, logged, hidden: hidden() }).toEqual({ changes: [], logged: [], hidden: ['a'] });
});

it('a file of rules that is gone leaves the last rules in force, with one line in the log', async () => {
  const path = temporaryFile('hide a');
  const { hidden, changes, logged } = await watch(path);
  rmSync(path);
  await expect.poll(() => logged).toHaveLength(1);
  await sleep(SOME_LOOKS_MS);
  expect(logged).toEqual([
    expect.objectContaining({
      level: 'error',
      file: path,
      reason: expect.stringMatching(/ENOENT/),
      msg: expect.stringMatching(/^LISTING_RULES has an error: .+\. The last rules stay in force$/),
    }),
  ]);
  expect({ hidden: hidden(), changes }).toEqual({ hidden: ['a'], changes: [] });
  writeFileSync(path, 'hide c');
  await expect.poll(() => changes).toEqual([['c']]);
  expect(logged.at(-1)).toMatchObject({ level: 'info', msg: expect.stringMatching(/has changed/) });
});

it('a file of rules has each of its errors logged once, and applies again when they are corrected', async () => {
  const path = temporaryFile('hide a');
  const { changes, logged } = await watch(path);
  const errors = () => logged.filter(({ level }) => level === 'error').length;
  writeFileSync(path, 'broken');
  await expect.poll(errors).toBe(1);
  await sleep(SOME_LOOKS_MS);
  expect(errors()).toBe(1);
  writeFileSync(path, 'worse');
  await expect.poll(errors).toBe(2);
  writeFileSync(path, 'hide a');
  await expect.poll(() => changes).toEqual([['a']]);
  expect(logged.at(-1)?.msg).toMatch(/has changed/);
});
