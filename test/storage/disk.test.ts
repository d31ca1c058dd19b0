/** SNAPSHOT_DIR keeps the last good listings over a restart or a kill, and does no harm when it cannot be used. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { fingerprint } from '../../src/domain/digests.js';
import { openDiskStore } from '../../src/storage/disk.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { chainRow, generatedListings, tokenRow } from '../fixtures/rows.js';
import { temporaryDirectory } from '../support/ends.js';
import { json, startFakeSuccessor, startFakeUpstream, status } from '../support/fake-upstream.js';
import { spawnGateway, startGatewayProcess } from '../support/gateway-process.js';
import {
  codesOf,
  createTestGateway,
  createTestLog,
  isAtLeast,
  type Settings,
  sampleOf,
} from '../support/test-gateway.js';

const BOTH = '{ chains { chainKey } tokens { address decimals price { usd } } }';
const DEAD = status(503);

function filesIn(directory: string) {
  const names = readdirSync(directory).filter((name) => name.endsWith('.snapshot'));
  const file = (listing: string) =>
    join(directory, names.find((name) => name.startsWith(`${listing}-`)) ?? '');
  return { names, chains: file('chains'), tokens: file('tokens') };
}

const startSmallUpstream = () =>
  startFakeUpstream({ chains: [chainRow('a')], tokens: [tokenRow('a', '0x1', { price: { usd: 2 } })] });

async function fill() {
  const directory = temporaryDirectory();
  const upstream = await startSmallUpstream();
  const { query } = await createTestGateway({ upstream, config: { snapshotDir: directory } });
  const answer = await query(BOTH);
  await expect.poll(() => filesIn(directory).names).toHaveLength(2);
  // The token list has no version before the chains are loaded: if the tokens were first, their file is written again.
  await expect.poll(() => readFileSync(filesIn(directory).tokens, 'utf8')).toContain('"tokenList"');
  upstream.planBoth(DEAD);
  const restart = (config: Settings = {}) =>
    createTestGateway({
      upstream,
      config: { snapshotDir: directory, upstreamRetries: 0, ...config },
      firstPauseMs: 20,
    });
  return { directory, upstream, answer, restart };
}

it('SNAPSHOT_DIR gives a gateway that starts with a dead upstream the last good listings, with their true age', async () => {
  const { upstream, answer, restart } = await fill();
  const filledAt = Date.now();
  await sleep(60);
  const { query, snapshots } = await restart({ tokensFreshMs: 50, chainsFreshMs: 60_000 });
  expect(await query(BOTH)).toEqual(answer);
  const [chains, tokens] = snapshots.status(Date.now());
  expect([chains.state, tokens.state]).toEqual(['FRESH', 'STALE']);
  expect(chains.takenAt).toBeLessThanOrEqual(filledAt);
  expect(tokens.ageMs).toBeGreaterThanOrEqual(60);
  // The stale listing is refreshed at once, and the fresh one later.
  const asked = upstream.count();
  upstream.plan('tokens', json({ tokens: [tokenRow('a', '0x1', { price: { usd: 3 } })] }));
  snapshots.start();
  await expect.poll(async () => JSON.stringify(await query(BOTH))).toContain('"usd":3');
  expect(upstream.seen.slice(asked).every(({ path }) => path === 'tokens')).toBe(true);
});

it('a gateway finds its own files beside those of another format, and leaves these alone', async () => {
  const { directory, upstream, answer, restart } = await fill();
  // As a newer gateway would write them, before the operator goes back to this one.
  const newer = filesIn(directory).names.map((name) => join(directory, name.replace('.1.', '.2.')));
  for (const file of newer) writeFileSync(file, 'chains-and-tokens-gateway 2 and what nobody here can read');
  const { query, snapshots, logged } = await restart({ tokensFreshMs: 1 });
  expect(await query(BOTH)).toEqual(answer);
  upstream.plan('tokens', json({ tokens: [tokenRow('a', '0x1', { name: 'Newer' })] }));
  snapshots.start();
  const [tokens = ''] = filesIn(directory).names.filter((name) => /^tokens-.*\.1\./.test(name));
  await expect.poll(() => readFileSync(join(directory, tokens), 'utf8')).toContain('Newer');
  for (const file of newer) expect(readFileSync(file, 'utf8')).toMatch(/^chains-and-tokens-gateway 2 and/);
  expect(logged.filter(({ msg }) => msg.includes('refused'))).toEqual([]);
});

it.each([
  ['without a number', '', 'gateway 1 '],
  ['of a lower number', '.0', 'gateway 0 '],
])('an older format %s gives its guarded values, and not its rows', async (_name, number, head) => {
  const { directory, upstream, restart } = await fill();
  for (const name of filesIn(directory).names) {
    const stored = readFileSync(join(directory, name), 'utf8').replace('gateway 1 ', head);
    rmSync(join(directory, name));
    writeFileSync(join(directory, name.replace('.1.snapshot', `${number}.snapshot`)), stored);
  }
  expect(codesOf(await (await restart()).query(BOTH))).toEqual(['UPSTREAM_STATUS', 'UPSTREAM_STATUS']);
  upstream.plan('tokens', json({ tokens: [tokenRow('a', '0x1', { decimals: 11 })] }));
  const { query } = await restart();
  const { data } = await query('{ tokens { decimals heldBack { fact served upstream } } }');
  const heldBack = [{ fact: 'decimals', served: '6', upstream: '11' }];
  expect(data).toEqual({ tokens: [{ decimals: 6, heldBack }] });
});

it('SNAPSHOT_DIR keeps the listings of several upstreams side by side', async () => {
  const { directory } = await fill();
  const other = await createTestGateway({ hasListings: true, config: { snapshotDir: directory } });
  await expect.poll(() => filesIn(directory).names).toHaveLength(4);
  expect(other.logged.filter(({ msg }) => msg.includes('refused'))).toEqual([]);
});

it('a file that cannot be read is refused with a line in the log, and the rest is served', async () => {
  const { directory, upstream, restart } = await fill();
  const file = filesIn(directory).tokens;
  rmSync(file);
  mkdirSync(file);
  const { query, logged, listings } = await restart();
  expect(logged.find(({ msg }) => msg.includes('is refused'))?.reason).toMatch(/EISDIR/);
  const answer = await query('{ chains { chainKey } tokens { decimals } }');
  expect(codesOf(answer)).toEqual(['UPSTREAM_STATUS']);
  expect(answer.data).toEqual({ chains: [{ chainKey: 'a' }], tokens: null });
  upstream.plan('tokens', json({ tokens: [tokenRow('a', '0x1')] }));
  await expect.poll(() => listings().tokens.state).toBe('FRESH');
});

it('a listing that cannot be written is logged and shown, although the other one can be written', async () => {
  const { directory, upstream, restart } = await fill();
  const { tokens } = filesIn(directory);
  rmSync(tokens);
  mkdirSync(tokens);
  upstream.plan('chains', json({ chains: [chainRow('a')] }));
  upstream.plan('tokens', json({ tokens: [tokenRow('a', '0x1')] }));
  const gateway = await restart({ chainsFreshMs: 50, tokensFreshMs: 50 });
  gateway.snapshots.start();
  const told = () =>
    gateway.logged.filter((line) => isAtLeast(line, 'info') && line.msg.includes('SNAPSHOT_DIR'));
  await expect.poll(told).toHaveLength(1);
  const asked = upstream.count('chains');
  await expect.poll(() => upstream.count('chains')).toBeGreaterThan(asked + 5);
  expect(told()).toHaveLength(1);
  expect(await sampleOf(gateway, 'gateway_listings_stored')).toBe(0);
  rmSync(directory, { recursive: true });
  await expect.poll(() => sampleOf(gateway, 'gateway_listings_stored')).toBe(1);
  await expect.poll(() => existsSync(tokens)).toBe(true);
  expect(told().at(-1)?.msg).toBe('SNAPSHOT_DIR can be written again');
});

it('a write that does not end in time is logged and shown as failed, until it ends', async () => {
  const { log, logged } = await createTestLog();
  const stored: boolean[] = [];
  const onStored = (isStored: boolean) => void stored.push(isStored);
  const store = await openDiskStore(temporaryDirectory(), { v1: 'mark' }, log, onStored, 0);
  // To encode many rows takes some milliseconds.
  const rows = Array.from({ length: 5_000 }, (_, nth) => tokenRow('a', `0x${nth + 1}`));
  await store.write(TOKENS, await TOKENS.parse(rows, { source: 'v1', takenAt: 1 }));
  expect(stored).toEqual([false, true]);
  expect(logged.map(({ level, err }) => [level, (err as Error | undefined)?.message])).toEqual([
    ['warn', 'The directory does not answer'],
    ['info', undefined],
  ]);
});

it('while a write does not end, only the newest listing waits in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const { log } = await createTestLog();
  const store = await openDiskStore(temporaryDirectory(), { v1: 'mark' }, log);
  const write = async () => {
    const parse = (takenAt: number) => TOKENS.parse([tokenRow('a', '0x1')], { source: 'v1', takenAt });
    const [first, ...others] = await Promise.all([1, 2, 3, 4].map(parse));
    if (first) store.write(TOKENS, first);
    // The first write begins in a microtask, and ends several turns of the event loop later.
    await null;
    return others.map((listing) => {
      store.write(TOKENS, listing);
      return new WeakRef(listing);
    });
  };
  const waiting = await write();
  // A WeakRef keeps its target until the end of this turn of the event loop.
  await setImmediate();
  collectGarbage();
  expect(waiting.map((listing) => listing.deref()?.takenAt)).toEqual([undefined, undefined, 4]);
  await store.settled();
  expect((await store.read(TOKENS))?.takenAt).toBe(4);
});

it('a SNAPSHOT_DIR that is a file ends the process at its start with a message', async () => {
  const file = join(temporaryDirectory(), 'file');
  writeFileSync(file, '');
  const { output, exited } = spawnGateway({ PORT: '0', SNAPSHOT_DIR: file });
  expect(await exited).toBe(1);
  expect(output()).toContain(`SNAPSHOT_DIR: expected a directory, got ${file}`);
});

it('the log says that a start waits for SNAPSHOT_DIR', async () => {
  const { child, output } = spawnGateway({ PORT: '0', SNAPSHOT_DIR: '/proc/none' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await expect.poll(output).toContain('SNAPSHOT_DIR does not answer');
});

it('a directory that cannot be created does not stop a gateway from serving', async () => {
  const snapshotDir = join(temporaryDirectory(), 'x'.repeat(300));
  const { query, logged } = await createTestGateway({ config: { snapshotDir } });
  expect(codesOf(await query(BOTH))).toEqual([]);
  expect(logged.some(({ msg }) => msg.startsWith('SNAPSHOT_DIR cannot be used yet'))).toBe(true);
});

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));
const WRITER = fileURLToPath(new URL('../support/write-forever.js', import.meta.url));

it('a process that is killed during a write, again and again, leaves a whole listing each time', {
  timeout: 600_000,
}, async () => {
  const directory = temporaryDirectory();
  const { log, logged } = await createTestLog();
  let cutWrites = 0;
  const unfinished = () => readdirSync(directory).filter((name) => name.endsWith('.tmp'));
  // Kills at least four writers, and goes on until two kills have interrupted a write.
  for (let time = 0; time < 4 || (cutWrites < 2 && time < 500); time++) {
    const writer = spawn(process.execPath, [WRITER, DIST, directory, '2500'], { stdio: 'pipe' });
    const exited = once(writer, 'exit');
    // The kill comes at any time after the first complete write, and every second time during another write.
    await once(writer.stdout, 'data');
    await sleep(Math.random() * 60);
    while (time % 2 > 0 && unfinished().length === 0) await setImmediate();
    writer.kill('SIGKILL');
    await exited;
    const left = unfinished();
    if (left.length > 0) cutWrites++;
    for (const name of left) rmSync(join(directory, name));
    const store = await openDiskStore(directory, { v1: 'mark' }, log);
    const read = await store.read(TOKENS);
    expect(read?.rows).toHaveLength(2_500);
    expect(new Set(read?.rows.map(({ name }) => name)).size).toBe(1);
  }
  // Without an interrupted write the test would prove nothing.
  expect(cutWrites).toBeGreaterThan(1);
  expect(logged).toEqual([]);
});

it('a start removes the temporary files of killed processes that are older than an hour', async () => {
  const directory = temporaryDirectory();
  const ours = 'tokens-mark.1.snapshot.0123456789abcdef.tmp';
  const hours = { 'tokens-mark.1.snapshot': 2, [ours]: 2, [ours.replace('0', 'f')]: 0.9, 'other.tmp': 2 };
  for (const [name, age] of Object.entries(hours)) {
    writeFileSync(join(directory, name), '');
    const at = Date.now() / 1000 - age * 3600;
    utimesSync(join(directory, name), at, at);
  }
  await createTestGateway({ config: { snapshotDir: directory } });
  const left = Object.keys(hours).filter((name) => name !== ours);
  expect(readdirSync(directory)).toEqual(expect.arrayContaining(left));
  expect(readdirSync(directory)).not.toContain(ours);
});

it('before a process stops, it writes the listings that it serves', async () => {
  const directory = temporaryDirectory();
  // There are so many rows that the write is in progress at the stop, and few enough that it ends in time.
  const upstream = await startFakeUpstream(generatedListings(10, 8_000), onTestFinished);
  const { child, output, exited } = await startGatewayProcess({
    UPSTREAM_URL: upstream.url,
    SNAPSHOT_DIR: directory,
  });
  await expect
    .poll(output, { interval: 5 })
    .toContain('New snapshot of the tokens listing from the upstream');
  child.kill('SIGINT');
  expect(await exited).toBe(0);
  const { log } = await createTestLog();
  const store = await openDiskStore(directory, { v1: fingerprint(upstream.url) }, log);
  const kept = await store.read(TOKENS);
  const loggedAt = (msg: string) =>
    Date.parse(new RegExp(`"time":"([^"]+)".*"msg":"${msg}`).exec(output())?.[1] ?? '');
  // A stop waits a second for the disk, which may be too little on a busy machine.
  const isCutShort = loggedAt('Stopped') - loggedAt('Stopping') >= 990;
  if (kept || !isCutShort) expect(kept?.rows).toHaveLength(8_000);
});

it('a start serves the stored listings of the successor, under either profile', async () => {
  const directory = temporaryDirectory();
  const v1 = await startSmallUpstream();
  const successor = await startFakeSuccessor();
  v1.planBoth(status(410));
  const upstreams = {
    upstreamProfile: 'auto',
    upstreamSuccessorUrl: successor.url,
    snapshotDir: directory,
  } as const;
  const before = await createTestGateway({ upstream: v1, config: upstreams });
  const answer = await before.query(BOTH);
  expect(codesOf(answer)).toEqual([]);
  await expect.poll(() => filesIn(directory).names).toHaveLength(2);
  const asked = v1.count();
  successor.planBoth(DEAD);
  const again = await createTestGateway({
    upstream: v1,
    config: { ...upstreams, tokensFreshMs: 1, upstreamRetries: 0 },
  });
  again.snapshots.start();
  const refused = successor.count();
  await expect.poll(() => successor.count()).toBeGreaterThan(refused);
  expect(await again.query(BOTH)).toEqual(answer);
  expect(v1.count()).toBe(asked);
  const advised = await createTestGateway({
    upstream: successor,
    config: { upstreamProfile: 'value-transfer', snapshotDir: directory },
  });
  expect(await advised.query(BOTH)).toEqual(answer);
});
