/** The log has one readable or JSON line for each event, without secrets and without characters that fake lines. */
import { Writable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../../src/logger/logger.js';
import { startFakeUpstream, status, text } from '../support/fake-upstream.js';
import { startGatewayProcess } from '../support/gateway-process.js';

async function logOf(secrets: readonly string[], readable = false) {
  let written = '';
  const destination = new Writable({
    write(chunk, _encoding, done) {
      written += chunk;
      done();
    },
  });
  const log = await createLogger({ level: 'info', readable, secrets, destination });
  return { log, written: () => written };
}

it.each([false, true])('the log removes secrets from all parts of a line, readable: %s', async (readable) => {
  const { log, written } = await logOf(['Bearer hunter2-key ', 'with "quotes" in it', 'short'], readable);
  log.info(
    { detail: 'the key hunter2-key', err: new Error('Bearer hunter2-key') },
    'a short text with "quotes" in it',
  );
  await expect.poll(written).toContain('short text');
  expect(written()).not.toMatch(/hunter2|quotes/);
  expect(written()).toContain('***');
});

/** Characters that control a terminal, reverse its text, or end a line. */
const DANGEROUS =
  '\u001b]0;title\u0007\u001b[2J\u009b31m\u0085 \r\b \u202e\u2066\u061c\u200f \u2028\u2029 \u007f';
const UNSEEN = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/u;

it('the log escapes control and bidi characters on a terminal, as in JSON', async () => {
  const { log, written } = await logOf([], true);
  const err = new Error(`${DANGEROUS}\nINFO: a line of its own`, { cause: new Error(DANGEROUS) });
  log.warn({ symbol: DANGEROUS, list: [DANGEROUS], err }, `said ${DANGEROUS}\n[00:00:00] INFO: forged`);
  await expect.poll(written).toContain('forged');
  const lines = written().trimEnd().split('\n');
  for (const line of lines) expect(line).not.toMatch(UNSEEN);
  expect(lines.filter((line) => /^(\[|INFO)/.test(line))).toHaveLength(1);
  expect(lines[0]).toContain('said \\u001b]0;title\\u0007\\u001b[2J\\u009b31m\\u0085');
  expect(lines.filter((line) => /^ +at /.test(line)).length).toBeGreaterThan(2);
  expect(lines.some((line) => line.includes('caused by: Error: \\u001b'))).toBe(true);
});

it('the log does not change a backslash in a text', async () => {
  const { log, written } = await logOf([], true);
  log.info({ symbol: 'a\\u001bb "c" \\' }, 'said');
  await expect.poll(written).toContain('said');
  expect(written()).toContain('a\\u001bb \\"c\\" \\"');
  expect(written()).not.toContain('\u001b');
});

it('the log escapes control and bidi characters in JSON lines, whose values stay the same', async () => {
  const { log, written } = await logOf([]);
  log.info({ symbol: DANGEROUS }, DANGEROUS);
  expect(written().trimEnd()).not.toMatch(UNSEEN);
  expect(JSON.parse(written())).toMatchObject({ symbol: DANGEROUS, msg: DANGEROUS });
});

it('the log is JSON lines with the time and the given members if no terminal shows it', async () => {
  const { log, written } = await logOf([]);
  log.child({ requestId: 'a' }).warn({ n: 1 }, 'said');
  expect(JSON.parse(written())).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    requestId: 'a',
    n: 1,
    msg: 'said',
  });
});

it.each([
  ['a refusal', status(401, {}, '{"error":"key hunter2-key is not known"}')],
  ['something that is no JSON', text('hunter2-key')],
  ['rows', text('{"chains":[{"chainKey":"a","chainType":"b","chainId":"hunter2-key"}]}')],
])('the log of the process does not contain a key that the upstream repeats in %s', async (_name, answer) => {
  const upstream = await startFakeUpstream({}, onTestFinished);
  upstream.plan('chains', answer);
  const { output } = await startGatewayProcess({
    UPSTREAM_URL: upstream.url,
    UPSTREAM_HEADERS: '{"authorization":"Bearer hunter2-key"}',
    LOG_LEVEL: 'trace',
  });
  await expect.poll(output).toContain('The chains listing could not be refreshed');
  expect(output()).not.toContain('hunter2');
  expect(upstream.seen[0]?.headers.authorization).toBe('Bearer hunter2-key');
});
