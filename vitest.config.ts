import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that compute for long, or start many gateways and count their requests. `npm run project slow` runs them. */
const SLOW = [
  'chaos.test.ts',
  'sleeping-reader.test.ts',
  'storage/{cores,redis,redis-glitch,redis-odd,redis-outage}.test.ts',
  'execution/differential.test.ts',
  'search/token-search.test.ts',
];

/** Attacks on the built gateway. `npm run hostile` runs them. */
const ATTACKS = ['hostile/*.test.ts'];

/**
 * The gateway together with programs of others: a browser, client libraries, routers, npm; and the test that kills gateways
 * for half a minute. `npm run project integration` runs them.
 */
const INTEGRATION = [
  'readme.test.ts',
  'kill.test.ts',
  'pages/picker/picker{,-states}.test.ts',
  'pages/playground.test.ts',
  'pages/trusted-pages.test.ts',
  'clients/*.test.ts',
  'federation/routers.test.ts',
];

/** Runs for minutes: `npm run soak`. */
const SOAK = ['soak.test.ts'];

/** Tests that install the package, other servers and the production packages. `npm run project package` runs them. */
const PACKAGE = ['library/hosts.test.ts', 'production.test.ts'];

/** Tests of the files in `.deploy`, with Prometheus, nginx and Redis. `npm run project deploy` runs them. */
const DEPLOY = ['deploy/*.test.ts'];

/** The longest tests, the longest first: otherwise one worker would still run one of them at the end. */
const LONG = [
  'hostile/long-texts',
  'hostile/slow-clients',
  'hostile/upstream',
  'hostile/fuzz',
  'hostile/connections',
  'library/hosts',
  'deploy/image',
  'deploy/rolling',
  'soak',
  'server/stop',
  'process',
  'server/server',
  'storage/disk',
  'server/admin',
  'pages/picker/picker-states',
  'pages/picker/picker',
  'readme',
  'pages/playground',
  'kill',
  'chaos',
  'sleeping-reader',
  'storage/redis',
  'storage/redis-outage',
  'storage/redis-glitch',
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
  // Some dependencies import graphql's CommonJS files and some its modules. The alias gives all of them the CommonJS files:
  // graphql refuses types from a second copy of itself.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    root: join(import.meta.dirname, 'test'),
    // This package is published as TypeScript only, so vitest must compile it.
    server: { deps: { inline: ['@uniswap/token-lists'] } },
    // Long enough for the busiest machine: only a test that hangs reaches them.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    // A busy machine can delay a test. A second attempt tells delay from failure; the report names the test.
    retry: 1,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [
            '**/node_modules/**',
            ...SLOW,
            ...ATTACKS,
            ...INTEGRATION,
            ...PACKAGE,
            ...DEPLOY,
            ...SOAK,
          ],
          sequence: { groupOrder: 0 },
          // More workers than cores: some of the time goes into waiting for other processes.
          maxWorkers: 4,
          isolate: false,
        },
      },
      {
        extends: true,
        // Not many workers: a busy machine slows Redis down.
        test: { name: 'slow', include: SLOW, sequence: { groupOrder: 1 }, maxWorkers: 3, isolate: false },
      },
      {
        extends: true,
        // Three workers, since some mostly wait: these tests measure CPU time and memory of the processes that they attack.
        test: {
          name: 'attacks',
          include: ATTACKS,
          sequence: { groupOrder: 2 },
          maxWorkers: 3,
          isolate: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: INTEGRATION,
          sequence: { groupOrder: 3 },
          maxWorkers: 4,
          isolate: false,
        },
      },
      // These run side by side, since they mostly wait.
      ...Object.entries({ package: PACKAGE, deploy: DEPLOY, soak: SOAK }).map(([name, include]) => ({
        extends: true as const,
        test: { name, include, sequence: { groupOrder: 4 }, maxWorkers: 3, isolate: false },
      })),
    ],
  },
});
