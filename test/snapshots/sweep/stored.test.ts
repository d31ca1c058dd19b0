import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { json, status } from '../../support/fake-upstream.js';
import {
  askSources,
  type Network,
  rowOf,
  sourcesOf,
  startSweeping,
  startSweptUpstream,
  stopDate,
  untilComplete,
} from '../../support/sweep.js';
import type { TestGateway } from '../../support/test-gateway.js';

const NETWORK: Network = {
  'a 0x1': ['b 0x1', 'c 0x1'],
  'b 0x1': ['a 0x1'],
  'c 0x1': [],
};
const HOUR = 3_600_000;

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'sweep-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The file of the map; resolves when it has the answers for so many tokens, and the listings have theirs. */
async function fileIn(directory: string, count: number): Promise<string> {
  const kept = () => readdirSync(directory).filter((name) => /^(chains|tokens)-\w+\.snapshot$/.test(name));
  await expect.poll(kept, { interval: 10 }).toHaveLength(2);
  const find = () => readdirSync(directory).find((name) => /^route-map-\w+\.snapshot$/.test(name));
  const sources = () => {
    const name = find();
    return name === undefined
      ? 0
      : readFileSync(join(directory, name), 'utf8').split('"type":"source"').length - 1;
  };
  await expect.poll(sources, { interval: 10 }).toBe(count);
  return join(directory, find() ?? '');
}

const linesOf = ({ logged }: TestGateway, text: string) => logged.filter(({ msg }) => msg.includes(text));

describe('the map of routes on disk', () => {
  it('is served after a restart with its age, without a request, and the sweep goes on where it was', async () => {
    const date = stopDate();
    const snapshotDir = makeDirectory();
    const upstream = await startSweptUpstream(NETWORK);
    upstream.planRoutes((token) =>
      json({
        tokens:
          token === 'a 0x1' ? [rowOf('b 0x1'), rowOf('b 0xun', { name: 'Unlisted' })] : [rowOf('a 0x1')],
      }),
    );
    const first = await startSweeping(upstream, { config: { snapshotDir, routesSweepMs: 200 } });
    const before = await untilComplete(first);
    await fileIn(snapshotDir, 3);
    const listings = upstream.count() - upstream.asked().length;
    date.advance(150);
    upstream.planRoutes(() => status(503));
    upstream.plan('chains', status(503));
    const second = await startSweeping(upstream, {
      config: { snapshotDir, routesSweepMs: 200, destinationsFreshMs: HOUR },
    });
    expect((await askSources(second, 'a 0x1')).data?.sources).toEqual(before);
    expect(await sourcesOf(second, 'b 0xun')).toEqual(['a 0x1']);
    expect(
      await second.query(
        '{ destinations(srcChainKey: "a", srcToken: "0x1") { tokens { name price { usd asOf } } } }',
      ),
    ).toMatchObject({
      data: {
        destinations: [
          { tokens: [{ price: { usd: 0.9998 } }, { name: 'Unlisted', price: { asOf: before.asOf } }] },
        ],
      },
    });
    expect(upstream.asked()).toHaveLength(3);
    expect(upstream.count() - upstream.asked().length).toBe(listings);
    date.advance(50);
    await expect.poll(() => upstream.asked().length, { interval: 10 }).toBeGreaterThan(3);
  });

  it('asks only the tokens that the last process did not get to', async () => {
    const date = stopDate();
    const snapshotDir = makeDirectory();
    const upstream = await startSweptUpstream(NETWORK);
    const first = await startSweeping(upstream, { config: { snapshotDir, routesSweepMs: HOUR } });
    await expect.poll(() => sourcesOf(first, 'b 0x1')).toEqual(['a 0x1']);
    first.snapshots.stop();
    await fileIn(snapshotDir, 1);
    date.advance(1_000);
    const second = await startSweeping(upstream, { config: { snapshotDir, routesSweepMs: HOUR } });
    await expect.poll(() => upstream.asked()).toEqual(['a 0x1', 'b 0x1']);
    await expect.poll(() => sourcesOf(second, 'a 0x1')).toEqual(['b 0x1']);
    expect(linesOf(second, 'goes on with the sweep')).toHaveLength(1);
  });

  it.each<[string, (record: string) => string]>([
    ['half written', (record) => record.slice(0, -10)],
    ['altered', (record) => record.replace('"places":"', '"places":"AAAA')],
    ['rubbish', () => 'rubbish'],
  ])('is refused if it is %s, with a line in the log, and swept anew', async (_name, spoil) => {
    stopDate();
    const snapshotDir = makeDirectory();
    const upstream = await startSweptUpstream(NETWORK);
    const first = await startSweeping(upstream, { config: { snapshotDir } });
    await untilComplete(first);
    const file = await fileIn(snapshotDir, 3);
    const record = readFileSync(file, 'utf8');
    expect(spoil(record)).not.toBe(record);
    writeFileSync(file, spoil(record));
    const second = await startSweeping(upstream, { config: { snapshotDir } });
    expect(linesOf(second, 'The route-map listing on disk is refused')).toHaveLength(1);
    await untilComplete(second);
    expect(await sourcesOf(second, 'a 0x1')).toEqual(['b 0x1']);
    expect(upstream.asked()).toHaveLength(6);
  });
});
