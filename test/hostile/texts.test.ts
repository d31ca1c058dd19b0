import { describe, expect, it } from 'vitest';
import { TOOLS } from '../../src/mcp/tools.js';
import { callOf } from '../mcp/support.js';
import { exchange, expectCheap, startTarget, type Target } from '../support/hostile.js';
import { longRequests, MATERIALS } from '../support/long-texts.js';

/** The most CPU time of the main thread for one request, in addition to that of an unread request of the same size. */
const MOST_MS = 100;
/** Slightly less than the limit of a body. */
const BYTES = 1_000_000;
/** Slightly less than the limit of a request head. */
const HEADER_BYTES = 14_000;

const get = (target: Target, path: string, headers: Record<string, string> = {}) =>
  exchange(target.address, path, 'GET', undefined, headers, undefined);

describe('a text of a megabyte costs little', () => {
  it.each(MATERIALS)('in every place of the graph where a text fits: $name', async (material) => {
    const target = await startTarget();
    let count = 0;
    for (const { name, body, control } of longRequests([material], BYTES)) {
      await expectCheap(
        target,
        name,
        () => target.ask(body),
        MOST_MS,
        () => target.ask(control),
      );
      count++;
    }
    expect(count).toBeGreaterThan(100);
  });

  it('in a document and beside it', async () => {
    const target = await startTarget();
    const long = 'x'.repeat(BYTES);
    const ask = (body: object) => () => target.ask(body);
    const requests: Readonly<Record<string, object>> = {
      'an alias': { query: `{ tokens { ${long}: symbol } }` },
      'a field': { query: `{ ${long} }` },
      'a field that is like many': { query: `{ tokens { ${'symbo'.repeat(BYTES / 5)} } }` },
      'an argument': { query: `{ chains(${long}: 1) { name } }` },
      'a fragment': { query: `{ ...${long} } fragment ${long.slice(0, 9)} on Query { __typename }` },
      'a type': { query: `query ($v: ${long}) { __typename }` },
      'a variable': { query: `query ($${long}: Int) { __typename }` },
      'a directive': { query: `{ __typename @${long} }` },
      'an operation': { query: `query ${long} { nope }` },
      'an operation with ten errors': { query: `query ${long} { ${'nope '.repeat(20)} }` },
      'a value of an enum': { query: `{ tokenSearch(orderBy: ${long}) { totalCount } }` },
      'a text that is no value of an enum': { query: `{ tokenSearch(orderBy: "${long}") { totalCount } }` },
      'a text that is no number': { query: `{ tokenSearch(first: "${long}") { totalCount } }` },
      'a number': { query: `{ tokenSearch(first: ${'1'.repeat(BYTES)}) { totalCount } }` },
      'a comment': { query: `{ __typename } # ${long}` },
      'a block string': { query: `{ chain(chainKey: """${'\n x'.repeat(BYTES / 4)}""") { name } }` },
      'a text after a syntax error': { query: `{ chain("${long}") }` },
      'names of variables': { query: '{ __typename }', variables: { [long]: 1 } },
      'the name of the operation': { query: 'query A { nope }', operationName: long },
      'the id of a document': { query: '{ __typename }', documentId: long },
      'the hash of a document': { extensions: { persistedQuery: { version: 1, sha256Hash: long } } },
      'the hash of a long document': {
        query: `{ __typename } # ${long}`,
        extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } },
      },
      'a member': { query: '{ __typename }', [long]: 1 },
      'no document': { query: long },
    };
    for (const [name, body] of Object.entries(requests)) {
      const control = { query: '{ __typename }', extensions: { ignored: JSON.stringify(body) } };
      await expectCheap(target, name, ask(body), MOST_MS, ask(control));
    }
  });

  it('as an argument of a tool', async () => {
    const target = await startTarget();
    const send = (body: string) => () =>
      exchange(target.address, '/mcp', 'POST', body, { 'content-type': 'application/json' }, undefined);
    for (const { name, document } of TOOLS) {
      for (const [, argument = ''] of document.matchAll(/\$(\w+):/g)) {
        for (const { start, part } of MATERIALS) {
          const text = start + part.repeat(BYTES / Buffer.byteLength(part) - start.length);
          const value = argument === 'filter' ? { symbols: [text] } : text;
          await expectCheap(
            target,
            `${name}.${argument}: ${part}`,
            send(callOf(name, { [argument]: value })),
            MOST_MS,
            send(callOf(name, { nope: value })),
          );
        }
      }
    }
  });

  it('in the head of a request, at its greatest length', async () => {
    const target = await startTarget();
    const path = `/graphql?query=${encodeURIComponent('{ tokens { symbol } }')}`;
    const control = () => get(target, path, { 'x-nobody-reads': 'x'.repeat(HEADER_BYTES) });
    for (const name of [
      'x-request-id',
      'if-none-match',
      'accept',
      'accept-encoding',
      'content-type',
      'origin',
      'x-forwarded-for',
      'access-control-request-headers',
      'user-agent',
      'traceparent',
    ]) {
      for (const part of ['x', 'a,', 'a;q=0,', '"a",', '1.1.1.1,', '00-', ' ;']) {
        const value = part.repeat(HEADER_BYTES / part.length);
        const send = () => get(target, path, { [name]: value });
        await expectCheap(target, `${name}: ${part}`, send, MOST_MS, control);
      }
    }
    for (const parameter of ['query', 'variables', 'operationName', 'extensions', 'documentId', 'nope']) {
      for (const part of ['x', '%7B', '%CC%81', '%5B', `&${parameter}=`]) {
        const value = part.repeat(HEADER_BYTES / part.length);
        await expectCheap(
          target,
          `${parameter}: ${part}`,
          () => get(target, `${path}&${parameter}=${value}`),
          MOST_MS,
          control,
        );
        await expectCheap(
          target,
          `${parameter} of the token list: ${part}`,
          () => get(target, `/tokenlist.json?${parameter === 'nope' ? 'chainKey' : parameter}=${value}`),
          MOST_MS,
          control,
        );
      }
    }
  });
});
