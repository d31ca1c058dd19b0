import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The tests that `npm test` leaves out, by project. `npm run project slow` runs those of `slow`. */
const FIRST = {
  /** They compute for long, or start many gateways and count their requests. */
  slow: [
    'chaos.test.ts',
    'sleeping-reader.test.ts',
    'storage/{cores,redis,redis-glitch,redis-outage}.test.ts',
  ],
  /** Attacks on the built gateway. */
  attacks: ['hostile/*.test.ts'],
};
const SECOND = {
  /** The gateway with programs of others: a browser, client libraries, routers, npm. */
  integration: [
    'readme.test.ts',
    'pages/picker/picker{,-choices,-code,-looks,-rows,-sizes,-states}.test.ts',
    'pages/playground.test.ts',
    'pages/trusted-pages.test.ts',
    'clients/*.test.ts',
    'federation/routers.test.ts',
  ],
  /** They install the package, other servers and the production packages. */
  package: ['library/hosts.test.ts', 'production.test.ts'],
  /** Tests of the files in `.deploy`, with Prometheus, nginx and Redis. */
  deploy: ['deploy/*.test.ts'],
  /** It runs for minutes. */
  soak: ['soak.test.ts'],
};
const SPECIAL = Object.values({ ...FIRST, ...SECOND }).flat();

/** The longest tests, the longest first: otherwise one worker would still run one of them at the end. */
const LONG = [
  'chaos',
  'hostile/slow-clients',
  'storage/redis',
  'hostile/long-texts',
  'hostile/connections',
  'hostile/operations',
  'hostile/upstream',
  'storage/redis-outage',
  'sleeping-reader',
  'hostile/costs',
  'storage/redis-glitch',
  'library/hosts',
  'pages/picker/picker-states',
  'readme',
  // These mostly wait, beside the others, which compute.
  'soak',
  'deploy/nginx',
  'pages/playground',
  'pages/picker/picker',
  'pages/picker/picker-code',
  'pages/picker/picker-looks',
  'pages/picker/picker-rows',
  'federation/routers',
  'deploy/rolling',
  'clients/nullability',
  'production',
  'server/stop',
  'process',
  'server/server',
  'storage/disk',
  'server/admin',
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
      // More workers than cores: some of the time goes into waiting for other processes.
      project('unit', ['**/*.test.ts'], 0, 4, ['**/node_modules/**', ...SPECIAL]),
      // Not many workers: a busy machine slows Redis down, and attacks measure the processes that they attack.
      ...Object.entries(FIRST).map(([name, include]) => project(name, include, 1, 3)),
      ...Object.entries(SECOND).map(([name, include]) => project(name, include, 2, 4)),
    ],
  },
});

/** @param groupOrder projects of the same number run side by side, with this many workers in all */
function project(
  name: string,
  include: string[],
  groupOrder: number,
  maxWorkers: number,
  exclude: string[] = [],
) {
  return {
    extends: true as const,
    test: { name, include, exclude, sequence: { groupOrder }, maxWorkers, isolate: false },
  };
}
