/** The time since `startedAt` (by `performance.now()`) for the log, in milliseconds with two decimals. */
export function elapsedMs(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 100) / 100;
}
