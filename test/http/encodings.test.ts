/** Compressions take threads that all clients share, so only a bounded number of bytes is compressed at a time. */
import { expect, it } from 'vitest';
import { Body } from '../../src/http/encodings.js';

/** Half of the bytes that may be compressed at a time, plus a little. */
const BYTES = Buffer.alloc(4 * 2 ** 20 + 1, '{"symbol":"USDC"}');

it('while more than 8 MiB are being compressed, further bodies are sent as they are', async () => {
  const compress = () => new Body([BYTES], 'once').encoded('br');
  const [first, second, third] = [compress(), compress(), compress()];
  expect(await third).toMatchObject({ encoding: 'identity', byteLength: BYTES.byteLength });
  for (const each of [await first, await second, await compress()]) {
    expect(each.encoding).toBe('br');
    expect(each.byteLength).toBeLessThan(BYTES.byteLength / 10);
  }
});
