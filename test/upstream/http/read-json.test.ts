/** JSON of the upstream is read in parts, with the results and errors of JSON.parse. */
import { expect, it } from 'vitest';
import { headOf, readJson } from '../../../src/upstream/http/read-json.js';

async function read(text: string | Buffer, length = 60_000) {
  const bytes = Buffer.from(text);
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
  }
  const headers = { get: (name: string) => (name === 'content-type' ? 'application/json' : null) };
  return readJson({ headers, body: pieces() }, 'http://upstream', 2 ** 25);
}

it('an answer in JSON gives the same result however its bytes are split', async () => {
  const value = { 'a "name", [odd] {too} \\': ['é\ud83d\ude00', '\\', '"', null], tokens: [{ a: 1 }, {}] };
  const text = JSON.stringify(value);
  for (const length of [1, 3, 7, 1_000]) {
    expect(await read(text, length)).toEqual({ json: value, bytes: Buffer.byteLength(text) });
  }
});

it.each(['', '{"tokens":[1,]}', '{"a":1}{', Buffer.from([0x22, 0xff, 0x22])])(
  'an answer in JSON is refused if JSON.parse refuses it: %j',
  async (text) => {
    await expect(read(text, 2)).rejects.toThrow('expected JSON in UTF-8');
  },
);

it('an answer in JSON may have any number of brackets and commas in its strings', async () => {
  const text = JSON.stringify(['{[,:"\\'.repeat(1_000_000)]);
  expect((await read(text)).bytes).toBe(text.length);
});

it('the beginning of an error page ends with a whole word, also if the page arrives in parts', async () => {
  async function* parts() {
    yield Buffer.from(`${'a'.repeat(490)} sec`);
    yield Buffer.from('ret-key and more');
  }
  expect(await headOf({ headers: new Headers(), body: parts() })).toBe(`${'a'.repeat(490)} …`);
});
