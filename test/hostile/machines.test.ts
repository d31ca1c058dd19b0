import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { generatedListings } from '../fixtures/rows.js';
import { callOf } from '../mcp/support.js';
import { json } from '../support/fake-upstream.js';
import { exchange, expectCheap, startTarget, type Target } from '../support/hostile.js';

/** The most CPU time of the main thread for one request, with 10,000 tokens. The whole listing takes a third of it. */
const MOST_MS = 100;
/** The highest CPU time for requests that may take as long as graphql-js takes for the largest list. */
const MOST_ROWS_MS = 300;

interface Asked {
  readonly path: string;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
}

const JSON_TYPE = { 'content-type': 'application/json' };
let asked = 0;

/** A message to the tools for agents. */
const mcp = (body: string): Asked => ({ path: '/mcp', method: 'POST', body, headers: JSON_TYPE });
const list = (query: string, headers: Record<string, string> = {}): Asked => ({
  path: `/tokenlist.json${query}`,
  headers,
});
/** A document that is new each time: `$N` becomes a different number. */
const graph = (query: string, variables?: object): Asked => ({
  path: '/graphql',
  method: 'POST',
  headers: JSON_TYPE,
  body: JSON.stringify({ query: `${query} # $N`, variables }),
});
const aliased = (count: number, field: (nth: number) => string): string =>
  `{ ${Array.from({ length: count }, (_nothing, nth) => `a${nth}: ${field(nth)}`).join(' ')} }`;
const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_nothing, nth) => [`a${nth}`, 1]));
const letters = (nth: number) =>
  Array.from({ length: 24 }, (_nothing, at) => String.fromCharCode(97 + ((nth * 7 + at * 5) % 26))).join('');

async function expectAllCheap(target: Target, requests: Readonly<Record<string, Asked>>, most = MOST_MS) {
  for (const [name, { path, method = 'GET', body, headers = {} }] of Object.entries(requests)) {
    const send = () =>
      exchange(target.address, path, method, body?.replaceAll('$N', String(asked++)), headers, undefined);
    await expectCheap(target, name, send, most);
  }
}

describe('one request costs little', () => {
  it('at /mcp', async () => {
    const deep = `${'['.repeat(55)}${']'.repeat(55)}`;
    await expectAllCheap(await startTarget(), {
      'the list of tools': mcp('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
      'a long query': mcp(callOf('find_tokens', { query: 'x'.repeat(1_000_000) })),
      'a long search': mcp(callOf('find_tokens', { query: 't o k e n 1 2 $N', first: 100 })),
      'a long name of an argument': mcp(callOf('find_tokens', { ['x'.repeat(1_000_000)]: 1 })),
      'a long name of a tool': mcp(callOf('x'.repeat(1_000_000))),
      'many arguments': mcp(callOf('find_tokens', members(80_000))),
      'many members of an argument': mcp(callOf('find_tokens', { filter: members(60_000) })),
      'many wrong members of an argument': mcp(callOf('find_tokens', { filter: members(4_000) })),
      'many items of an argument': mcp(
        callOf('find_tokens', { filter: { symbols: Array(250_000).fill('a') } }),
      ),
      'many deep items': mcp(
        callOf('find_tokens', { query: [] }).replace('[]', `[${Array(8_000).fill(deep)}]`),
      ),
      'many parameters': mcp(
        JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: members(80_000) }),
      ),
      'many members': mcp(
        JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', ...members(80_000) }),
      ),
      'a long id': mcp(JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(1_000_000), method: 'tools/list' })),
    });
  });

  it('at /tokenlist.json', async () => {
    const target = await startTarget();
    const lists = Array.from({ length: 79 }, (_nothing, nth) => list(`?chainKey=chain-${nth + 1}`));
    await expectAllCheap(target, {
      'all tokens': list(''),
      'all tokens, compressed': list('', { 'accept-encoding': 'br' }),
      'many tags': list('', { 'if-none-match': '"a",'.repeat(3_500) }),
      'many keys': list(`?${'chainKey=a&'.repeat(1_200)}`),
      'a long key': list(`?chainKey=${'%00'.repeat(4_000)}`),
      ...Object.fromEntries(lists.map((request) => [request.path, request])),
    });
  });

  it('for new fields', async () => {
    const target = await startTarget();
    const caip19s = Array.from({ length: 50_000 }, (_nothing, nth) => `eip155:1/erc20:${nth}`);
    const byCaip19 = 'query ($c: [String!]!) { tokensByCaip19(caip19s: $c) { id } }';
    const search = (query: string) => `tokenSearch(query: "${query}") { didYouMean }`;
    await expectAllCheap(target, {
      'eight words of 24 letters': graph(
        aliased(1, () => search(Array.from({ length: 8 }, (_n, nth) => letters(nth)).join(' '))),
      ),
      'eight words with slips': graph(
        aliased(1, () => search('tokne chian nubmer tokeen chaain nmuber tkoen chani')),
      ),
      'six searches with a slip': graph(aliased(6, (nth) => search(`tokne${nth}`))),
      'thirty searches with a slip': graph(aliased(30, (nth) => search(`tokne${nth}`))),
      'one question thirty times': graph(
        `{ tokenSearch(query: "tokne chian") { ${aliased(30, () => 'didYouMean').slice(1, -1)} } }`,
      ),
      'many unknown identifiers': graph(byCaip19, { c: caip19s }),
      'too many identifiers': graph(byCaip19, { c: Array(250_000).fill('') }),
      'a long cursor': graph('query ($c: String) { tokenChanges(since: $c) { cursor } }', {
        c: 'x'.repeat(1_000_000),
      }),
      'everything, as changes': graph(
        '{ tokenChanges { removedIds changed { id symbol name chain { name } } } }',
      ),
      'sources by the dozen': graph(
        aliased(30, (nth) => `sources(dstChainKey: "ethereum", dstToken: "0x${nth}") { isComplete }`),
      ),
    });
    await expectAllCheap(
      target,
      {
        'thirty times everything': graph(
          aliased(30, (nth) => `tokenChanges(since: "${nth}") { changed { id } }`),
        ),
      },
      MOST_ROWS_MS,
    );
  });

  it('for changes since a cursor of long ago', async () => {
    const target = await startTarget({ env: { TOKENS_FRESH_MS: '1000', HOLD_BACK_TIMES: '1' } });
    const cursorOf = async () => {
      const { body } = await target.ask({ query: '{ tokenChanges { cursor } }' });
      return (JSON.parse(body) as { data: { tokenChanges: { cursor: string } } }).data.tokenChanges.cursor;
    };
    const first = await cursorOf();
    const { tokens } = generatedListings(80, 10_000);
    const renamed = (tokens as readonly { name: string }[]).map((token, nth) =>
      nth < 3_000 ? { ...token, name: `${token.name} again` } : token,
    );
    target.upstream.plan('tokens', json({ tokens: renamed }));
    while ((await cursorOf()) === first) await sleep(200);
    const ask = (field: string) => graph(aliased(30, () => field));
    await expectAllCheap(target, { 'the cursor alone': ask(`tokenChanges(since: "${first}") { cursor }`) });
    await expectAllCheap(
      target,
      { '90,000 rows': ask(`tokenChanges(since: "${first}") { changed { id } }`) },
      MOST_ROWS_MS,
    );
  });
});

it('client text in the log is short and escaped, and each request is counted once', async () => {
  const target = await startTarget();
  const lines = () => target.output().split('\n');
  const isAnswered = (line: string) => line.includes('"msg":"Answered"') && !line.includes('/ready');
  // Refused requests of one client share a line each second.
  const answered = () =>
    lines()
      .filter(isAnswered)
      .reduce((sum, line) => sum + Number(/"count":(\d+)/.exec(line)?.[1] ?? 1), 0);
  const text = 'x\n\u001b[31m\u2028'.repeat(1_000);
  const requests = [
    mcp(callOf(text)),
    mcp(callOf('find_tokens', { [text]: 1 })),
    mcp(JSON.stringify({ jsonrpc: '2.0', id: text, method: text })),
    mcp(`{${text}`),
    list(`?chainKey=${encodeURIComponent(text.slice(0, 1_000))}`),
    { path: '/graphql', method: 'QUERY', body: text, headers: JSON_TYPE },
    graph(`query { tokenChanges(since: ${JSON.stringify(text)}) { cursor } }`),
  ];
  for (const { path, method, body, headers } of requests)
    await exchange(target.address, path, method ?? 'GET', body, headers ?? {}, undefined);
  await expect.poll(answered).toBe(requests.length);
  for (const line of lines()) expect(line.length).toBeLessThan(1_000);
  for (const character of ['\u001b', '\u2028']) expect(target.output()).not.toContain(character);
});
