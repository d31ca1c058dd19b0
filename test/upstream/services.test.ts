import { readdirSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { UPSTREAM_PROFILES } from '../../src/config/config.js';
import { createMetrics } from '../../src/observability/metrics.js';
import { openSnapshots } from '../../src/open-snapshots.js';
import { LISTING_KINDS, ROUTES } from '../../src/upstream/listing-kinds.js';
import { rowsOf } from '../../src/upstream/rows.js';
import type { CreateService } from '../../src/upstream/service.js';
import { AUTO, fingerprintsOf, SERVICES } from '../../src/upstream/services.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { type FakeUpstream, json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { temporaryDirectory } from '../support/temporary-files.js';
import { createTestLog, defaultConfig, isAtLeast } from '../support/test-gateway.js';

/** The one file of an additional service, whose rows have other names of fields. */
const createFurtherListing: CreateService = ({ http, source }) => ({
  source,
  async fetch(name) {
    const { json, sentAt } = await http.getJson({ path: name, first: true });
    const rows = rowsOf(name === 'chains' ? 'networks' : 'assets', json);
    return LISTING_KINDS[name].parse(rows, { source, takenAt: sentAt });
  },
  async routes(_filter, clients) {
    const { json, sentAt } = await http.getJson({ path: 'tokens', first: false, clients });
    return ROUTES.parse(rowsOf('assets', json), { source, takenAt: sentAt });
  },
});

/** The table with one more row. */
const services = { ...SERVICES, further: createFurtherListing };

async function startFurtherUpstream(): Promise<FakeUpstream> {
  const upstream = await startFakeUpstream();
  onTestFinished(() => upstream.close());
  upstream.plan('chains', json({ networks: [chainRow('a')] }));
  upstream.plan('tokens', json({ assets: [tokenRow('a', '0x1'), tokenRow('a', '0x2')] }));
  return upstream;
}

/** The data that a gateway serves from an additional service, and its warnings. */
async function serve({ url }: FakeUpstream, config: { snapshotDir?: string; redisUrl?: string }) {
  const { log, logged } = await createTestLog();
  const opened = await openSnapshots({
    ...defaultConfig(),
    upstreamRetries: 0,
    ...config,
    addresses: { profile: 'further', url, isDemo: false, services },
    // Long, so that they also share on a busy machine.
    redisTimeoutMs: 30_000,
    metrics: createMetrics(),
    log,
  });
  onTestFinished(opened.close);
  const view = opened.snapshots.view();
  const [chains, tokens] = [await view.read('chains'), await view.read('tokens')];
  return {
    close: opened.close,
    served: [chains, tokens].map(({ source, takenAt, rows }) => ({ source, takenAt, rows })),
    warnings: logged.filter((line) => isAtLeast(line, 'warn')),
  };
}

describe('a service added with one file and one row', () => {
  it('is served, and its listings survive on disk when the gateway starts again', async () => {
    const snapshotDir = temporaryDirectory();
    const upstream = await startFurtherUpstream();
    const first = await serve(upstream, { snapshotDir });
    expect(first.served).toMatchObject([
      { source: 'further', rows: [{ chainKey: 'a' }] },
      { source: 'further', rows: [{ address: '0x1' }, { address: '0x2' }] },
    ]);
    await first.close();
    // On a busy disk the process ends before the files are written.
    const kept = () => readdirSync(snapshotDir).filter((name) => name.endsWith('.snapshot'));
    await expect.poll(kept).toHaveLength(2);
    for (const path of ['chains', 'tokens'] as const) upstream.plan(path, status(503));
    const again = await serve(upstream, { snapshotDir });
    expect(again.served).toEqual(first.served);
    expect(again.warnings).toEqual([]);
  });

  it.skipIf(isRedisMissing)('reaches other gateways through Redis', async () => {
    const { url: redisUrl, client } = await startRedis();
    const upstream = await startFurtherUpstream();
    const first = await serve(upstream, { redisUrl });
    expect(upstream.count()).toBe(2);
    await expect.poll(() => client.keys('*:snapshot')).toHaveLength(2);
    const other = await serve(upstream, { redisUrl });
    expect(other.served).toEqual(first.served);
    expect(other.warnings).toEqual([]);
    expect(upstream.count()).toBe(2);
  });
});

describe('the table of services', () => {
  it('gives the values of UPSTREAM_PROFILE: the name of each service, and auto', () => {
    expect(
      UPSTREAM_PROFILES,
      'If a service was added to SERVICES, add its name to UPSTREAM_PROFILES in src/config/config.ts.',
    ).toEqual([...Object.keys(SERVICES), AUTO]);
  });

  it('refuses other profiles, even the names of members that every object has', () => {
    for (const profile of ['v2', 'constructor', '__proto__']) {
      expect(() => fingerprintsOf({ profile, url: 'http://a/v1', isDemo: false })).toThrow(RangeError);
    }
  });
});
