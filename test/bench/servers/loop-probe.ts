/**
 * Imported into a gateway: watches for how long its event loop is blocked, and tells it by a message whenever it gets
 * one. What is told is the excess over the millisecond of the timer.
 */
const LEAST_MS = 3;
const EVERY_MS = 1;

let blockedMs: number[] = [];
let last = performance.now();

setInterval(() => {
  const now = performance.now();
  const excess = now - last - EVERY_MS;
  if (excess >= LEAST_MS) blockedMs.push(excess);
  last = now;
}, EVERY_MS).unref();

process.on('message', () => {
  process.send?.(blockedMs);
  blockedMs = [];
});
process.channel?.unref();
