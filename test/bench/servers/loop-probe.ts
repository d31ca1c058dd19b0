/**
 * Is imported into a gateway's process, and measures for how long its event loop is blocked. Whenever it gets a message,
 * it sends the milliseconds of each block since the last message. A block is the time by which a timer of one millisecond
 * is late, if that is at least 3 ms.
 */
const LEAST_MS = 3;
const EVERY_MS = 1;

let blocks: number[] = [];
let last = performance.now();

setInterval(() => {
  const now = performance.now();
  const ms = now - last - EVERY_MS;
  if (ms >= LEAST_MS) blocks.push(ms);
  last = now;
}, EVERY_MS).unref();

process.on('message', () => {
  process.send?.(blocks);
  blocks = [];
});
process.channel?.unref();
