/** The gateway ends connections of clients that are too slow to send a request. */
import { expect, it } from 'vitest';
import { FULL, startTarget } from '../support/hostile.js';
import { CHUNKED, openRaw, postOf } from '../support/raw-http.js';

it('time runs out after 30 s for clients that send nothing, half a head or half a body, or read single bytes', async () => {
  const target = await startTarget({ env: { UPSTREAM_TIMEOUT_MS: '120000' } });
  const began = performance.now();
  // A client whose request waits for the upstream is not a slow reader, even if it has pipelined further requests.
  target.upstream.plan('tokens', () => {});
  const waiting = await openRaw(target.address);
  const route = `{ tokens(srcChainKey: "ethereum", srcToken: "0xAbCdEf0000000000000000000000000000000001") { name } }`;
  await waiting.send(postOf(route) + postOf('{ chains { chainKey } }'));
  const silent = await openRaw(target.address);
  const halfHead = await openRaw(target.address);
  await halfHead.send('GET /live HTTP/1.1\r\nHos');
  const halfBody = await openRaw(target.address);
  await halfBody.send(postOf('{ chains { name } }').slice(0, -5));
  const dripping = await openRaw(target.address);
  await dripping.send(CHUNKED);
  const drips = setInterval(() => dripping.send('1\r\nx\r\n'), 500);
  const drop = await openRaw(target.address, { isReading: false });
  await drop.send([0, 1, 2, 3].map((nth) => postOf(FULL.replace('tokens', `a${nth}: tokens`))).join(''));
  const drops = setInterval(() => drop.socket.read(1), 5000);
  const idle = await openRaw(target.address);
  await idle.send('GET /live HTTP/1.1\r\nHost: x\r\n\r\n');
  const late = [silent, halfHead, halfBody, dripping];
  await expect.poll(() => late.every((one) => one.isClosed()), { timeout: 60_000 }).toBe(true);
  for (const one of late) expect(one.received()).toMatch(/^HTTP\/1.1 408[\s\S]*within 30 seconds/);
  await expect.poll(() => target.cuts('slow_reader'), { timeout: 60_000 }).toBe(1);
  clearInterval(drips);
  clearInterval(drops);
  expect(performance.now() - began).toBeGreaterThan(29_000);
  // An idle connection is not a slow reader.
  expect(idle.isClosed()).toBe(false);
  expect(idle.received()).toMatch(/^HTTP\/1.1 200/);
  await expect.poll(waiting.received).toMatch(/UPSTREAM_TIMEOUT[\s\S]*"chains":\[\{/);
  expect(waiting.isClosed()).toBe(false);
}, 120_000);
