import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What starts many gateways and counts what they ask for: on a busy machine Redis is too slow for them. */
const HEAVY = ['chaos.test.ts', 'kill.test.ts', 'listing/redis*.test.ts'];

/** Those that take longest, which begin first, so that no worker is left with one of them at the end. */
const LONG = [
  'stop',
  'listing/redis',
  'listing/disk',
  'picker',
  'playground',
  'listing/guard',
  'differential',
  'server',
  'properties',
  'readme',
  'federation/routers',
  'chaos',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) =>
      LONG.some((name) => moduleId.includes(`/test/${name}`) && moduleId.endsWith('.test.ts'));
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  // Some dependencies ask for graphql's CommonJS files and some for its modules: two realms, unless all
  // are sent to one of them.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    root: import.meta.dirname,
    // On a busy machine what is waited for can take its time.
    testTimeout: 40_000,
    hookTimeout: 40_000,
    expect: { poll: { timeout: 15_000 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'most',
          include: ['**/*.test.ts'],
          exclude: ['**/node_modules/**', ...HEAVY],
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
    ],
  },
});
