/** One file and one row are enough to add a service. */
import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type Config, UPSTREAM_PROFILES } from '../../src/config/config.js';
import { LISTING_KINDS, ROUTES } from '../../src/upstream/listing-kinds.js';
import { type CreateService, rowsOf } from '../../src/upstream/service.js';
import { AUTO, SERVICES } from '../../src/upstream/services.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { temporaryDirectory } from '../support/temporary-files.js';
import { createTestGateway, isAtLeast } from '../support/test-gateway.js';

const PROFILES = [...Object.keys(SERVICES), AUTO];

/** The one file of an additional service, whose answers name the rows `networks` and `assets`. */
const createFurtherService: CreateService = ({ http, source }) => ({
  source,
  async fetch(name) {
    const { json, sentAt } = await http.getJson({ path: name, lane: 'listings' });
    const rows = rowsOf(name === 'chains' ? 'networks' : 'assets', json);
    return LISTING_KINDS[name].parse(rows, { source, takenAt: sentAt });
  },
  async routes(_filter, clients) {
    const { json, sentAt } = await http.getJson({ path: 'tokens', lane: 'routes', clients });
    return ROUTES.parse(rowsOf('assets', json), { source, takenAt: sentAt });
  },
});
/** The one row that a further service needs in `SERVICES`. */
Object.assign(SERVICES, { further: createFurtherService });

async function startFurtherUpstream() {
  const upstream = await startFakeUpstream();
  upstream.plan('chains', json({ networks: [chainRow('a')] }));
  upstream.plan('tokens', json({ assets: [tokenRow('a', '0x1'), tokenRow('a', '0x2')] }));
  return upstream;
}

it('a service added with one file and one row is served, and its listings survive on disk', async () => {
  const snapshotDir = temporaryDirectory();
  const upstream = await startFurtherUpstream();
  const upstreamProfile = 'further' as Config['upstreamProfile'];
  async function serve() {
    const config = { upstreamProfile, upstreamRetries: 0, snapshotDir };
    const { query, logged } = await createTestGateway({ upstream, config });
    const answer = await query('{ chains { chainKey } tokens { address } listings { source takenAt } }');
    return { answer, warnings: logged.filter((line) => isAtLeast(line, 'warn')) };
  }
  const first = await serve();
  expect(first.answer.data).toMatchObject({
    chains: [{ chainKey: 'a' }],
    tokens: [{ address: '0x1' }, { address: '0x2' }],
    listings: [{ source: 'further' }, { source: 'further' }],
  });
  const kept = () => readdirSync(snapshotDir).filter((name) => name.endsWith('.snapshot'));
  await expect.poll(kept).toHaveLength(2);
  upstream.planBoth(status(503));
  expect(await serve()).toEqual({ ...first, warnings: [] });
});

it('UPSTREAM_PROFILE has the name of each service, and auto', () => {
  expect(
    UPSTREAM_PROFILES,
    'If a service was added to SERVICES, add its name to UPSTREAM_PROFILES in src/config/config.ts.',
  ).toEqual(PROFILES);
});
