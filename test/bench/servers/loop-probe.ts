/**
 * Is imported into a gateway's process, and measures for how long its event loop is blocked. Whenever it gets a message,
 * it sends all blocks since the last message. A block is the time by which a timer of one millisecond is late.
 */
import type { Block } from '../parts/refresh.js';

const LEAST_MS = 3;
const EVERY_MS = 1;

let blocks: Block[] = [];
let last = performance.now();
let cpuLast = cpuMs();

setInterval(() => {
  const now = performance.now();
  const cpu = cpuMs();
  const ms = now - last - EVERY_MS;
  if (ms >= LEAST_MS) blocks.push({ ms, ownMs: Math.min(ms, cpu - cpuLast) });
  last = now;
  cpuLast = cpu;
}, EVERY_MS).unref();

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

process.on('message', () => {
  process.send?.(blocks);
  blocks = [];
});
process.channel?.unref();
