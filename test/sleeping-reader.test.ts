/** A log that nobody reads does not block the gateway. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { MAIN } from './support/gateway-process.js';
import { fixedLimits, freePort } from './support/processes.js';
import { postOf } from './support/raw-http.js';
import { PACKAGE } from './support/readme.js';

/** The number of pipelined requests that are sent together: few enough for one TCP segment. */
const AT_ONCE = 50;
/** Each log line contains the id of its request. With a long id, a few thousand lines fill any buffer. */
const LONG_ID = 'x'.repeat(128);

async function startUnread(throughPipe: boolean) {
  const port = String(await freePort());
  const env = {
    PATH: process.env.PATH ?? '',
    PORT: port,
    ...fixedLimits(),
    // Time for the reader to start reading after the signal to stop.
    ...(throughPipe ? {} : { DRAIN_MS: '5000' }),
  };
  // `sleep` holds the pipe open without reading. Standard error gets the gateway's process id and exit status.
  const piped = '{ "$0" "$1" & echo "pid $!" >&2; wait $!; echo "status $?" >&2; } | sleep 600';
  const [command = '', ...args] = [...(throughPipe ? ['bash', '-c', piped] : []), process.execPath, MAIN];
  const child = spawn(command, args, { env, detached: throughPipe });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.stdout.pause();
  onTestFinished(() => {
    if (child.exitCode !== null || child.pid === undefined) return;
    if (throughPipe) process.kill(-child.pid, 'SIGKILL');
    else child.kill('SIGKILL');
  });
  const address = `http://127.0.0.1:${port}`;
  await expect.poll(() => fetch(`${address}/ready`).then(({ status }) => status)).toBe(200);
  return { address, child, errors: () => errors };
}

async function fillLog(address: string): Promise<string> {
  const request = postOf('{ chain(chainKey: "base") { name } }', `x-request-id: ${LONG_ID}\r\n`);
  const socket = connect(Number(new URL(address).port), '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  let answered = 0;
  let rest = '';
  socket.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('{"data":{"chain":{"name":"Base"}}}');
    answered += parts.length - 1;
    rest = parts.at(-1) ?? '';
  });
  for (let sent = AT_ONCE; ; sent += AT_ONCE) {
    socket.write(request.repeat(AT_ONCE));
    while (answered < sent) await once(socket, 'data');
    if (sent % 1_000 > 0) continue;
    const text = await (await fetch(`${address}/metrics`)).text();
    if (!text.includes('gateway_log_lines_dropped_total 0')) return text;
  }
}

it('a log that is not read does not block requests or SIGTERM, and lost lines are counted', async () => {
  const { address, errors } = await startUnread(true);
  const metrics = await fillLog(address);
  expect(metrics).toContain(`gateway_build_info{version="${PACKAGE.version}",revision="`);
  const [, pid] = /pid (\d+)/.exec(errors()) ?? [];
  process.kill(Number(pid), 'SIGTERM');
  // A stop that takes longer than ten seconds ends with status 1.
  await expect.poll(errors).toContain('status 0');
});

it('a log on a socket that is not read does not block either, and its last line arrives when it is read', async () => {
  const { address, child } = await startUnread(false);
  await fillLog(address);
  let read = '';
  child.stdout.on('data', (chunk: Buffer) => {
    read += chunk.toString();
  });
  child.stdout.resume();
  child.kill('SIGTERM');
  const [status] = (await once(child, 'exit')) as [number | null];
  expect(status).toBe(0);
  await expect.poll(() => read.trimEnd().split('\n').at(-1)).toContain('"msg":"Stopped"');
  for (const line of read.trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow();
});
