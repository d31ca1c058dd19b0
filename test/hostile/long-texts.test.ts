/** A very long text costs little, wherever a request can have one. */
import { expect, it } from 'vitest';
import { ERROR_CODES } from '../../src/domain/error-codes.js';
import { TOOLS } from '../../src/mcp/tools.js';
import { callOf } from '../mcp/support.js';
import { type Asked, expectCheap, shareTarget } from '../support/hostile.js';
import { codesOf } from '../support/test-gateway.js';
import { longRequests, MANY, MATERIALS } from './long-texts.js';

/** The most CPU time of the main thread for one request, beyond that of an unread request of the same size. */
const MOST_MS = 100;
/** Slightly less than the limit of a body, and than that of a request head. */
const BYTES = 1_000_000;
const HEADER_BYTES = 14_000;

const CODES: readonly string[] = [...ERROR_CODES, 'GRAPHQL_VALIDATION_FAILED'];

const target = shareTarget();

it.each([...MATERIALS, MANY])(
  'a long text costs little in every place of the graph where a text fits: $name',
  async (material) => {
    let count = 0;
    for (const { name, body, control } of longRequests(material, BYTES)) {
      const answer = await expectCheap(target, name, { body }, MOST_MS, { body: control });
      // Messages show only the start of wrong values, so answers are short. But a list of many keys has a null for each.
      if (material !== MANY) expect(answer.length, name).toBeLessThan(40_000);
      for (const code of codesOf(JSON.parse(answer))) expect(CODES, name).toContain(code);
      count++;
    }
    expect(count).toBeGreaterThan(material === MANY ? 20 : 80);
  },
);

it('a long text costs little in a document and beside it', async () => {
  const long = 'x'.repeat(BYTES);
  const persisted = (sha256Hash: string) => ({ persistedQuery: { version: 1, sha256Hash } });
  const documents: Readonly<Record<string, string>> = {
    'an alias': `{ tokens { ${long}: symbol } }`,
    'a field': `{ ${long} }`,
    'a field that is like many': `{ tokens { ${'symbo'.repeat(BYTES / 5)} } }`,
    'an argument': `{ chains(${long}: 1) { name } }`,
    'a fragment': `{ ...${long} } fragment ${long.slice(0, 9)} on Query { __typename }`,
    'a type': `query ($v: ${long}) { __typename }`,
    'a variable': `query ($${long}: Int) { __typename }`,
    'a directive': `{ __typename @${long} }`,
    'an operation': `query ${long} { nope }`,
    'an operation with ten errors': `query ${long} { ${'nope '.repeat(20)} }`,
    'a value of an enum': `{ tokenSearch(orderBy: ${long}) { totalCount } }`,
    'a text that is no value of an enum': `{ tokenSearch(orderBy: "${long}") { totalCount } }`,
    'a text that is no number': `{ tokenSearch(first: "${long}") { totalCount } }`,
    'a number': `{ tokenSearch(first: ${'1'.repeat(BYTES)}) { totalCount } }`,
    'a comment': `{ __typename } # ${long}`,
    'many comments': `{ __typename }${'#\n'.repeat(BYTES / 3)}`,
    'a block string': `{ chain(chainKey: """${'\n x'.repeat(BYTES / 4)}""") { name } }`,
    'a block string of empty lines': `{ chain(chainKey: """${'\n'.repeat(BYTES / 2)}""") { name } }`,
    'a text after a syntax error': `{ chain("${long}") }`,
    'no document': long,
  };
  const bodies: Readonly<Record<string, object>> = {
    ...Object.fromEntries(Object.entries(documents).map(([name, query]) => [name, { query }])),
    'names of variables': { query: '{ __typename }', variables: { [long]: 1 } },
    'the name of the operation': { query: 'query A { nope }', operationName: long },
    'the id of a document': { query: '{ __typename }', documentId: long },
    'the hash of a document': { extensions: persisted(long) },
    'the hash of a long document': {
      query: `{ __typename } # ${long}`,
      extensions: persisted('a'.repeat(64)),
    },
    'a member': { query: '{ __typename }', [long]: 1 },
  };
  for (const [name, body] of Object.entries(bodies)) {
    const control = { query: '{ __typename }', extensions: { ignored: JSON.stringify(body) } };
    await expectCheap(target, name, { body }, MOST_MS, { body: control });
  }
});

it('a long text costs little as the arguments of a tool', async () => {
  for (const { name, document } of TOOLS) {
    const names = [...document.matchAll(/\$(\w+):/g)].map(([, argument = '']) => argument);
    if (names.length === 0) continue;
    for (const { start, part } of MATERIALS) {
      const text = start + part.repeat(BYTES / names.length / Buffer.byteLength(part) - start.length);
      const values = names.map((argument) => (argument === 'filter' ? { symbols: [text] } : text));
      const call = (prefix: string): Asked => {
        const args = names.map((argument, nth) => [prefix + argument, values[nth]]);
        return { path: '/mcp', body: callOf(name, Object.fromEntries(args)) };
      };
      await expectCheap(target, `${name}: ${part}`, call(''), MOST_MS, call('unknown'));
    }
  }
});

it('a long text costs little in the head of a request, at its greatest length', async () => {
  const path = `/graphql?query=${encodeURIComponent('{ tokens { symbol } }')}`;
  const control = { path, headers: { 'x-nobody-reads': 'x'.repeat(HEADER_BYTES) } };
  const filled = (part: string) => part.repeat(HEADER_BYTES / part.length);
  const names =
    'x-request-id if-none-match accept accept-encoding content-type origin x-forwarded-for access-control-request-headers user-agent traceparent';
  for (const name of names.split(' ')) {
    for (const part of ['x', 'a,', 'a;q=0,', '"a",', '1.1.1.1,', '00-', ' ;']) {
      const asked = { path, headers: { [name]: filled(part) } };
      await expectCheap(target, `${name}: ${part}`, asked, MOST_MS, control);
    }
  }
  for (const parameter of ['query', 'variables', 'operationName', 'extensions', 'documentId', 'chainKey']) {
    for (const part of ['x', '%7B', '%CC%81', '%5B', `&${parameter}=`]) {
      for (const before of [`${path}&`, '/tokenlist.json?']) {
        const asked = { path: `${before}${parameter}=${filled(part)}` };
        await expectCheap(target, asked.path.slice(0, 80), asked, MOST_MS, control);
      }
    }
  }
});
