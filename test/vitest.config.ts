import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Some dependencies ask for graphql's CommonJS files and some for its modules: two realms, unless all
  // are sent to one of them.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    root: import.meta.dirname,
    include: ['**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    // Most of the time is spent in waiting for other processes.
    maxWorkers: 4,
    // On a busy machine what is waited for can take its time.
    expect: { poll: { timeout: 10_000 } },
  },
});
