import { Writable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLogger } from '../src/logger.js';
import { startFakeUpstream, status, text } from './support/fake-upstream.js';
import { startGatewayProcess } from './support/gateway-process.js';

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

describe('the log', () => {
  it.each([false, true])('holds no secret, wherever it turns up (readable: %s)', async (readable) => {
    const { log, written } = await logOf(['Bearer hunter2-key ', 'with "quotes" in it', 'short'], readable);
    log.info(
      { detail: 'the key hunter2-key', err: new Error('Bearer hunter2-key') },
      'a short text with "quotes" in it',
    );
    await expect.poll(written).toContain('short text');
    expect(written()).not.toMatch(/hunter2|quotes/);
    expect(written()).toContain('***');
  });

  it('is JSON lines where nobody reads them, with the time and no more than was said', async () => {
    const { log, written } = await logOf([]);
    log.child({ requestId: 'a' }).warn({ n: 1 }, 'said');
    expect(JSON.parse(written())).toEqual({
      level: 40,
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
  ])('of the process holds no key that the upstream repeats in %s', async (_name, answer) => {
    const upstream = await startFakeUpstream();
    onTestFinished(upstream.close);
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
});
