import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What starts many gateways and counts what they ask for: on a busy machine Redis is too slow for them. */
const HEAVY = ['chaos.test.ts', 'storage/redis*.test.ts'];

/** Attacks that take minutes. `npm run hostile` runs them. */
const HOSTILE = ['hostile/*.test.ts'];

/**
 * The gateway together with what others have written: a browser, client libraries, routers, npm. `npm run integration`
 * runs them, and the one that kills gateways for half a minute.
 */
const INTEGRATION = [
  'readme.test.ts',
  'kill.test.ts',
  'pages/picker/{picker,choices,held-back}.test.ts',
  'pages/playground/playground.test.ts',
  'pages/trusted-pages.test.ts',
  'clients/*.test.ts',
  'federation/{routers,chain-facts}.test.ts',
];

/** Installs the package and other servers, and the production packages. `npm run packed` runs them. */
const PACKED = ['library/hosts.test.ts', 'production.test.ts'];

/** What runs the files of `.deploy`, beside Prometheus, nginx and Redis. `npm run deployed` runs it. */
const DEPLOYED = ['deploy/*.test.ts'];

/** Those that take longest, the longest first, so that no worker is left with one of them at the end. */
const LONG = [
  'server/stop',
  'storage/disk',
  'pages/picker/picker',
  'readme',
  'pages/playground/playground',
  'upstream/http/backoff',
  'storage/redis',
  'chaos',
  'kill',
  'storage/redis-glitch',
  'storage/redis-outage',
  'federation/routers',
  'snapshots/snapshots',
  'server/server',
  'execution/differential',
  'properties',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const place = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place < 0 ? LONG.length : place;
    };
    return (await super.sort(files)).toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  // Some dependencies ask for graphql's CommonJS files and some for its modules: two realms, unless all
  // are sent to one of them.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    root: join(import.meta.dirname, 'test'),
    // Published as TypeScript only.
    server: { deps: { inline: ['@uniswap/token-lists'] } },
    // Only a test that hangs reaches these, however busy the machine is.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    // A test that a busy machine has delayed gets a second try; the report names it.
    retry: 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'most',
          include: ['**/*.test.ts'],
          exclude: ['**/node_modules/**', ...HEAVY, ...HOSTILE, ...INTEGRATION, ...PACKED, ...DEPLOYED],
          sequence: { groupOrder: 0 },
          // Most of the time is spent in waiting for other processes.
          maxWorkers: 6,
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'heavy', include: HEAVY, sequence: { groupOrder: 1 }, maxWorkers: 4, isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: INTEGRATION,
          sequence: { groupOrder: 5 },
          maxWorkers: 4,
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: 'packed', include: PACKED, sequence: { groupOrder: 3 }, isolate: false },
      },
      {
        extends: true,
        // One after the other: some measure.
        test: {
          name: 'deployed',
          include: DEPLOYED,
          sequence: { groupOrder: 4 },
          maxWorkers: 1,
          isolate: false,
        },
      },
      {
        extends: true,
        // They measure CPU time and memory of the processes that they attack.
        test: {
          name: 'hostile',
          include: HOSTILE,
          sequence: { groupOrder: 2 },
          maxWorkers: 2,
          isolate: false,
        },
      },
    ],
  },
});
