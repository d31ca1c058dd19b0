/** No answer of a hostile upstream costs much time or memory, or removes a row. */
import { expect, it } from 'vitest';
import { generatedListings, tokenRow } from '../fixtures/rows.js';
import { type Answer, json, text } from '../support/fake-upstream.js';
import { ask } from '../support/gateway-process.js';
import { expectAlive, shareTarget, startTarget, type Target } from '../support/hostile.js';
import { fixedLimits } from '../support/processes.js';

const MB = 2 ** 20;
/** Slightly less than the limit of a response. */
const FULL = 8 * MB - 1000;
const TOKENS = generatedListings(20, 1_000).tokens;

/** The highest CPU time for one response, in all and without a pause: little more than the largest valid one needs. */
const MAX_CPU_MS = 3_000;
const MAX_STALL_MS = 700;
/** The highest CPU time without a pause for a valid response: about twice the time to parse it. */
const MAX_GUARD_STALL_MS = 150;
const MAX_MEMORY_MB = 420;

const filled = (part: string) => part.repeat(Math.floor(FULL / part.length));
const rows = (body: string) => text(`{"tokens":[${body}]}`);
const objects = (count: number, members: number, nameOf = (nth: number, at: number) => `${nth}.${at}`) =>
  Array.from({ length: count }, (_, nth) => {
    const names = Array.from({ length: members }, (_, at) => `"${nameOf(nth, at)}":0`);
    return `{${names.join(',')}}`;
  }).join(',');
/** One of 900 names, so that hardly any two objects have the same members. */
const oddName = (nth: number, at: number) => `${(nth * 7919 * (at + 1) + at * 31) % 900}`;

const GOOD_ROW = `${JSON.stringify(TOKENS[0])},`;
const levels = (count: number) => `${'['.repeat(count)}${']'.repeat(count)}`;
const shortRows = () =>
  Array.from({ length: 80_000 }, (_, nth) =>
    tokenRow('a', `${nth}`, { symbol: '', name: '', price: undefined }),
  );
const longSymbol = () =>
  TOKENS.map((row, nth) => (nth < 900 ? { ...row, symbol: nth === 0 ? 'x'.repeat(6 * MB) : 1 } : row));
const manyObjects = () => Array.from({ length: 6 }, () => `[${'{},'.repeat(160_000)}{}]`).join(',');

/** Responses with their `lastFailure`. The first responses once cost 13 s and 1.8 GB each, or ended the process. */
const ATTACKS: readonly (readonly [name: string, answer: () => Answer, said: RegExp])[] = [
  ['8 MB of {},', () => rows(`${filled('{},')}{}`), /at most 1000000 objects/],
  ['8 MB of [],', () => rows(`${filled('[],')}[]`), /at most 1000000 objects/],
  ['8 MB of 0,', () => rows(`${filled('0,')}0`), /at most 2800000 commas between values/],
  ['8 MB of [[[[', () => text(filled('[')), /at most 1000000 objects|at most 200000 levels/],
  ['8 MB of {"":{"":{', () => text(filled('{"":')), /at most 1000000 objects|at most 200000 levels/],
  ['8 MB of one good row', () => rows(`${filled(GOOD_ROW)}{}`), /at most 200000|lacks 999/],
  ['a million levels', () => rows(levels(999_990)), /at most 200000 levels/],
  ['as many levels as are parsed', () => rows(levels(199_990)), /none of the 1 rows/],
  ['2.4 million bare rows', () => rows(`${'0,'.repeat(2_399_990)}0`), /at most 200000 rows .* got 2399991/],
  ['a row of half a million members', () => rows(objects(1, 500_000)), /at most 1000 names/],
  ['a symbol of 6 MB', () => json({ tokens: longSymbol() }), /cannot be read/],
  ['a text of 8 MB', () => text(`"${filled('x')}"`), /expected a JSON object/],
  ['the most bad rows', () => rows(`${'{},'.repeat(199_999)}{}`), /none of the 200000 rows/],
  ['the most short rows', () => json({ tokens: shortRows() }), /lacks 1000 of 1000 known rows/],
  ['the most objects', () => rows(manyObjects()), /none of the 6 rows/],
  ['names of members that are all different', () => rows(objects(600, 900)), /at most 1000 names/],
  ['objects with members of their own', () => rows(objects(40_000, 20, oddName)), /none of the 40000 rows/],
];

const SETTINGS = {
  ADMIN_PORT: '0',
  // Both listings are refreshed only on request.
  TOKENS_FRESH_MS: '3600000',
  CHAINS_FRESH_MS: '3600000',
  // A busy machine takes long to read such a large response.
  UPSTREAM_TIMEOUT_MS: '120000',
  // The same answer must not be accepted because it is sent again.
  ...fixedLimits({ upstreamRetries: 0, holdBackTimes: 1000, maxWaitMs: 1_000 }),
};

async function refreshWith(target: Target, tokens: Answer) {
  target.upstream.plan('tokens', tokens);
  const cpuBefore = target.cpuMs();
  const watching = target.watch();
  const { status } = await fetch(`${target.admin}/refresh`, { method: 'POST' });
  const watched = await watching.stop();
  expectAlive(watched, MAX_MEMORY_MB);
  const stallMs = Math.max(watched.liveMs, watched.cachedMs);
  return { status, stallMs, cpuMs: target.cpuMs() - cpuBefore };
}

const target = shareTarget({ chainCount: 20, tokenCount: 1_000, env: SETTINGS });

it.each(ATTACKS)(
  'an upstream that sends %s costs little, is reported in listings, and removes no row',
  async (_name, answer, said) => {
    const tokens = async () => {
      const query = '{ listings { name state rows version lastFailure { code message } } }';
      const { data } = await ask<{ listings: { version: string }[] }>(target.address, query);
      return data.listings[1];
    };
    const before = await tokens();
    const { status, stallMs, cpuMs } = await refreshWith(target, answer());
    expect(status).toBe(502);
    expect(await tokens()).toMatchObject({
      rows: 1_000,
      version: before?.version,
      lastFailure: { code: 'UPSTREAM_MALFORMED', message: expect.stringMatching(said) },
    });
    expect(stallMs).toBeLessThan(MAX_STALL_MS);
    expect(cpuMs).toBeLessThan(MAX_CPU_MS);
    // The next case begins with the good listing.
    expect((await refreshWith(target, json({ tokens: TOKENS }))).status).toBe(200);
  },
);

it('an upstream that moves symbols to thousands of other addresses keeps no request waiting', async () => {
  const moved = (round: number) =>
    generatedListings(1, 10_000).tokens.map((row, nth) => ({
      ...row,
      symbol: `T${nth % 100}`,
      // Fewer than half: otherwise the whole listing would be held back.
      ...(nth < 4_900 ? { address: `0x${round}${String(nth).padStart(39, '0')}` } : {}),
    }));
  const { chains } = generatedListings(1, 1);
  const target = await startTarget({ listings: { chains, tokens: moved(1) }, env: SETTINGS });
  for (const round of [2, 3]) {
    const { status, stallMs } = await refreshWith(target, json({ tokens: moved(round) }));
    expect(status).toBe(200);
    expect(stallMs).toBeLessThan(MAX_GUARD_STALL_MS);
  }
});

it('an upstream that sends names of a thousand words takes little more memory than others', async () => {
  const { chains, tokens } = generatedListings(1, 6_500);
  const named = (end: string) =>
    tokens.map((row, nth) => ({ ...row, name: `${nth} ${'a.'.repeat(509)}${end}` }));
  const target = await startTarget({ listings: { chains, tokens: named('') }, env: SETTINGS });
  expect((await refreshWith(target, json({ tokens: named('!') }))).status).toBe(200);
});
