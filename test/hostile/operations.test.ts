/** Expensive operations, sent as fast as possible, leave health checks, cached responses and other clients served. */
import { expect, it } from 'vitest';
import { generatedListings } from '../fixtures/rows.js';
import { temporaryFile } from '../support/ends.js';
import { json } from '../support/fake-upstream.js';
import { attack, costOf, expectAlive, shareTarget, startTarget } from '../support/hostile.js';
import { fixedLimits } from '../support/processes.js';

/** Each attack lasts this long (milliseconds). `HOSTILE_MS` makes it longer. */
const ATTACK_MS = Number(process.env.HOSTILE_MS ?? 1_500);
const CONNECTIONS = 16;
const MOST_STALL_MS = 300;
const MOST_MEMORY_MB = 300;

const FIELDS =
  '{ id symbol name address decimals price { usd asOf } chain { name nativeCurrency { symbol } } }';

function aliased(count: number, field: string): object {
  const aliases = Array.from({ length: count }, (_nothing, nth) => `a$N_${nth}: ${field}`);
  return { query: `{ ${aliases.join(' ')} }` };
}

const longNames = (count: number) =>
  Array.from({ length: count }, (_nothing, nth) => `${'x'.repeat(190)}${nth}: symbol`).join(' ');

function entities(count: number): object {
  const r = Array.from({ length: count }, (_nothing, nth) => ({
    __typename: 'Token',
    chainKey: 'ethereum',
    address: `0xAbCdEf${(nth + 1).toString(16).padStart(34, '0')}`,
  }));
  const selection = '{ ... on Token { id symbol chain { name } } }';
  return {
    query: `query ($r: [_Any!]!) { a$N: _entities(representations: $r) ${selection} }`,
    variables: { r },
  };
}

const ATTACKS: readonly (readonly [string, readonly object[]])[] = [
  ['the full list', [aliased(1, `tokens ${FIELDS}`)]],
  ['seven and thirty full lists', [aliased(7, `tokens ${FIELDS}`), aliased(30, `tokens ${FIELDS}`)]],
  [
    'searches, alone and by the dozen',
    [
      aliased(1, 'tokenSearch(query: "t o k e n $N") { edges { node { id } } }'),
      aliased(10, 'tokenSearch(query: "tok $N") { totalCount }'),
      aliased(30, 'tokenSearch(query: "t o k e n $N") { totalCount }'),
    ],
  ],
  ['entities', [entities(200), entities(8_000)]],
  ['responses a little shorter than their limit', [{ query: `{ a$N: tokens { ${longNames(4)} } }` }]],
  ['responses a little longer than their limit', [{ query: `{ a$N: tokens { ${longNames(6)} } }` }]],
];

const target = shareTarget();

it.each(ATTACKS)('health checks and cached responses are served in an attack: %s', async (_name, bodies) => {
  // The watched query is cached from its second answer on, so that it does not wait behind the attack.
  for (let time = 0; time < 2; time++) await target.ask({ query: '{ chains { chainKey } }' });
  const watch = target.watch();
  const statuses = await attack(target.address, CONNECTIONS, ATTACK_MS, bodies);
  const watched = await watch.stop();
  expectAlive(watched, MOST_MEMORY_MB);
  expect(watched.liveMs).toBeLessThan(MOST_STALL_MS);
  expect(watched.cachedMs).toBeLessThan(MOST_STALL_MS);
  // Each request got a response: data, an error about the request, or OVERLOADED.
  expect([...statuses.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([]);
});

it('responses with long names are refused, too, if the texts of the upstream are long', async () => {
  const limits = fixedLimits({ upstreamMaxBytes: 64 * 2 ** 20 });
  const target = await startTarget({ env: { TOKENS_FRESH_MS: '1000', ...limits } });
  const before = target.upstream.count('tokens');
  const long = (row: object) => ({ ...row, name: '\u2603'.repeat(1_000) });
  target.upstream.plan('tokens', json({ tokens: generatedListings(80, 10_000).tokens.map(long) }));
  await expect.poll(() => target.upstream.count('tokens')).toBeGreaterThan(before);
  await expect
    .poll(async () => (await target.ask({ query: '{ tokens { name } }' })).body.slice(0, 100))
    .toContain('Expected a response of at most 10000000 bytes');
  const { body, cpuMs } = await costOf(target, {
    body: { query: '{ a: tokens { name } b: tokens { name } }' },
  });
  expect(JSON.parse(body)).toMatchObject({ errors: [{ extensions: { code: 'LIMIT_EXCEEDED' } }] });
  expect(cpuMs).toBeLessThan(MOST_STALL_MS);
  expect(target.memoryMb()).toBeLessThan(420);
});

it('a client that sends as many requests as it can slows down itself, and not a client at another address', async () => {
  // On a busy machine one operation of the attacker may take longer than the limit of production.
  const target = await startTarget({ env: fixedLimits() });
  const bodies = [aliased(1, `tokens ${FIELDS}`)];
  const attacked = attack(target.address, CONNECTIONS, ATTACK_MS, bodies, '127.0.0.2');
  const waits: number[] = [];
  for (let nth = 0; nth < 10; nth++) {
    const { cpuMs, status } = await costOf(target, {
      body: { query: `{ b${nth}: chain(chainKey: "ethereum") { name } }` },
    });
    expect(status).toBe(200);
    waits.push(cpuMs);
  }
  await attacked;
  // An operation waits until the running one ends, and then for at most one operation of the attacker.
  expect(Math.max(...waits)).toBeLessThan(3 * MOST_STALL_MS);
});

it('operations that wait for the first chain listing because of a rule are limited like others that wait', async () => {
  const listings = generatedListings(80, 500);
  let release = () => {};
  const target = await startTarget({
    listings,
    plan(upstream) {
      release = upstream.hold('chains', json({ chains: listings.chains }));
    },
    env: {
      // Without the chain listing nobody knows which tokens this rule hides.
      LISTING_RULES: temporaryFile('hide eip155:987654\n'),
      TRUSTED_PROXIES: 'loopback',
      UPSTREAM_TIMEOUT_MS: '600000',
      ...fixedLimits(),
    },
  });
  await expect
    .poll(async () => (await target.send({ path: '/metrics' })).body)
    .toContain('gateway_listing_rows{listing="tokens"} 500');
  const watch = target.watch();
  const refused = { before: 0, during: 0 };
  // The documents of the first client take much memory.
  const much = '... on Query { __typename } '.repeat(200);
  const answers = Array.from({ length: 6 * 140 }, async (_nothing, nth) => {
    const client = Math.floor(nth / 140);
    const query = `{ a${nth}: tokens { id } ${client === 0 ? much : ''} }`;
    const headers = { 'x-forwarded-for': `192.0.2.${client}` };
    const { status, body } = await target.send({ body: { query }, headers });
    const { data, errors } = JSON.parse(body);
    if (status === 503) refused.before++;
    else if (errors?.[0].extensions.code === 'OVERLOADED') refused.during++;
    else expect(data?.[`a${nth}`]).toHaveLength(500);
  });
  const answered = Promise.all(answers);
  // At most 500 operations are in progress, and 8 MiB of those of one client wait. They wait for at most 25 s.
  const areLimited = Promise.all([
    expect.poll(() => refused.before, { timeout: 20_000 }).toBeGreaterThan(840 - 500 - 140),
    expect.poll(() => refused.during, { timeout: 20_000 }).toBeGreaterThan(50),
  ]);
  await Promise.race([answered, areLimited]);
  await areLimited;
  release();
  await answered;
  const watched = await watch.stop();
  expectAlive(watched, MOST_MEMORY_MB);
  expect(watched.liveMs).toBeLessThan(MOST_STALL_MS);
});
