/** Guarded values keep their promises for generated listings, in bounded memory and time. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Fetched, Token } from '../../src/domain/listing.js';
import { resolveRules } from '../../src/domain/listing-rules.js';
import { lookalikeKey } from '../../src/domain/lookalikes.js';
import { type GuardedListing, guardListing } from '../../src/snapshots/guard.js';
import { asSent } from '../../src/snapshots/known-rows.js';
import { decodeListing, encodeListing } from '../../src/storage/stored-listing.js';
import { type ListingKind, TOKENS } from '../../src/upstream/listing-kinds.js';
import { tokenRow } from '../fixtures/rows.js';
import { HOUR } from '../support/clock.js';

const HOLD_BACK_MS = 24 * HOUR;
const START = 1_800_000_000_000;
const SERVICES = { v1: 'service' };
const rules = resolveRules([], []);

class Gateway {
  listing: GuardedListing<Token> | undefined;

  /** @param isShared whether another gateway has guarded the listing: its memory is continued */
  async take(sent: Fetched<Token>, isShared: boolean): Promise<void> {
    const options = { kind: TOKENS, holdBackMs: HOLD_BACK_MS, rules };
    const before = isShared ? sent : this.listing;
    this.listing = (await guardListing(options, asSent(TOKENS, sent), before)).listing;
  }

  /** The served rows, without the start time of replaced ones, which changes once the new row is listed. */
  served() {
    return this.listing?.rows.map(({ heldBack, ...row }) => ({
      ...row,
      heldBack: heldBack.map((held) => (held.fact === 'address' ? { ...held, since: '' } : held)),
    }));
  }
}

/** Stands for the facts of a row that is not sent. */
const GONE = 'gone';
const factsOf = ({ decimals, symbol }: Pick<Token, 'decimals' | 'symbol'>) => `${decimals} ${symbol}`;

/** The upstream. It also notes, from its answers alone, which values a gateway may serve. */
class Upstream {
  readonly rows = new Map<string, { decimals: number; symbol: string }>();
  /** By row: its facts in the last answer, and since when all answers have had them. */
  readonly runs = new Map<string, { facts: string; since: number }>();
  /** By row: the facts that may be served. They were the first ones, or steady for the hold-back period. */
  private readonly allowed = new Map<string, Set<string>>();
  private readonly everServed = new Map<string, string>();
  /** By look (see `lookalikeKey`): the rows that ever had such a symbol. */
  private readonly withLook = new Map<string, Set<string>>();
  /** By row and look: since when the row has neither been sent nor served with the look. */
  private readonly leftAt = new Map<string, number>();
  now = START;

  ageOf(address: string): number {
    return this.now - (this.runs.get(address)?.since ?? this.now);
  }

  async answer(): Promise<Fetched<Token>> {
    for (const address of new Set([...this.rows.keys(), ...this.runs.keys()])) {
      const row = this.rows.get(address);
      const facts = row ? factsOf(row) : GONE;
      if (this.runs.get(address)?.facts !== facts) this.runs.set(address, { facts, since: this.now });
      if (!row) continue;
      const look = lookalikeKey(row.symbol);
      this.withLook.set(look, (this.withLook.get(look) ?? new Set()).add(address));
      const allowed = this.allowed.get(address) ?? new Set();
      if (!this.everServed.has(address) || this.ageOf(address) >= HOLD_BACK_MS) allowed.add(facts);
      this.allowed.set(address, allowed);
    }
    const sent = [...this.rows].map(([address, row]) =>
      tokenRow('a', address, { ...row, price: { usd: 1 } }),
    );
    return TOKENS.parse(sent, { source: 'v1', takenAt: this.now });
  }

  expectGuarded({ listing }: Gateway): void {
    const isFirst = this.everServed.size === 0;
    const newcomers: Token[] = [];
    for (const row of listing?.rows ?? []) {
      const { address, heldBack, price } = row;
      const sent = this.rows.get(address);
      const differing = (['decimals', 'symbol'] as const).filter((fact) => row[fact] !== sent?.[fact]);
      // Served values must be the first ones, or have been steady. A row that differs from the sent one must
      // show this, and have no price.
      expect([...(this.allowed.get(address) ?? [])]).toContain(factsOf(row));
      expect(heldBack.map(({ fact }) => fact)).toEqual(sent ? differing : ['address']);
      expect(price === null).toBe(heldBack.length > 0);
      const run = this.runs.get(address);
      if (sent) {
        for (const { since } of heldBack) expect(since).toBe(run?.since);
        if (this.ageOf(address) >= HOLD_BACK_MS) expect(heldBack).toEqual([]);
      }
      if (!this.everServed.has(address) && !isFirst) newcomers.push(row);
    }
    for (const { address, symbol } of newcomers) {
      const alike = this.withLook.get(lookalikeKey(symbol)) ?? [];
      const [other, ...more] = [...alike].filter((each) => each !== address);
      const left = other && !this.rows.has(other) ? this.everServed.get(other) : undefined;
      if (!other || more.length > 0 || left === undefined || lookalikeKey(left) !== lookalikeKey(symbol))
        continue;
      // A new row does not replace a removed row of the same look before the end of the hold-back period.
      const leftMs = this.now - (this.leftAt.get(`${other} ${lookalikeKey(symbol)}`) ?? this.now);
      expect(Math.max(leftMs, this.ageOf(address))).toBeGreaterThanOrEqual(HOLD_BACK_MS);
    }
    const served = new Map(listing?.rows.map((row) => [row.address, row]));
    for (const { address, symbol } of served.values()) this.everServed.set(address, symbol);
    for (const [look, addresses] of this.withLook) {
      for (const address of addresses) {
        const id = `${address} ${look}`;
        const symbols = [this.rows.get(address)?.symbol, served.get(address)?.symbol];
        if (symbols.some((each) => each !== undefined && lookalikeKey(each) === look)) this.leftAt.delete(id);
        else if (!this.leftAt.has(id)) this.leftAt.set(id, this.now);
      }
    }
  }
}

const ADDRESSES = ['0x1', '0x2', '0x3', '0x4', '0x5', '0x6'];
/** The second symbol looks like the first: its last letter is Cyrillic. */
const symbol = fc.constantFrom('USDC', 'USDС', 'ETH', 'DAI');
const row: fc.Arbitrary<{ decimals: number; symbol: string }> = fc.record({
  decimals: fc.constantFrom(6, 18),
  symbol,
});
const step = fc.record({
  after: fc.constantFrom(1 / 60, 1, 6, 12, 23, 30).map((hours) => hours * HOUR),
  changes: fc.oneof(
    fc.constant([]),
    fc.array(fc.record({ address: fc.constantFrom(...ADDRESSES), row: fc.option(row, { freq: 2 }) }), {
      maxLength: 3,
    }),
  ),
  asks: fc.constantFrom(0, 1),
  isMissed: fc.constantFrom(true, false, false),
  isRestarted: fc.constantFrom(true, false, false, false),
});
type Step = typeof step extends fc.Arbitrary<infer Generated> ? Generated : never;

async function run(steps: readonly Step[]): Promise<void> {
  const upstream = new Upstream();
  const gateways = [new Gateway(), new Gateway()] as const;
  for (const [nth, address] of ADDRESSES.slice(0, 4).entries())
    upstream.rows.set(address, { decimals: 6, symbol: ['USDC', 'ETH', 'DAI', 'X'][nth] ?? '' });
  let newest: Gateway | undefined;
  for (const { after, changes, asks, isMissed, isRestarted } of steps) {
    const asker = gateways[asks];
    const other = gateways[1 - asks] as Gateway;
    // A gateway reads the newest shared listing before it asks the upstream.
    if (newest?.listing && newest.listing.takenAt > (asker.listing?.takenAt ?? 0))
      await asker.take(newest.listing, true);
    upstream.now += after;
    for (const { address, row } of changes) {
      if (row) upstream.rows.set(address, row);
      else if (upstream.rows.size > 1) upstream.rows.delete(address);
    }
    await asker.take(await upstream.answer(), false);
    upstream.expectGuarded(asker);
    newest = asker;
    const { listing } = asker;
    if (!listing) throw new Error('Expected a listing');
    if (!isMissed) {
      await other.take(listing, true);
      upstream.expectGuarded(other);
      expect(other.served()).toEqual(asker.served());
    }
    const before = asker.served();
    await asker.take(listing, true);
    expect(asker.served()).toEqual(before);
    asker.listing = listing;
    if (!isRestarted) continue;
    const stored = await encodeListing(TOKENS, listing, SERVICES);
    asker.listing = undefined;
    await asker.take(await decodeListing(TOKENS, stored, SERVICES, upstream.now), true);
    expect(asker.served()).toEqual(before);
  }
}

/** Guards listings of tokens one after the other, a minute apart, and counts how often a row was looked at. */
async function guardAll(listings: readonly (readonly object[])[]) {
  let looks = 0;
  const count =
    <Result>(each: (row: Token) => Result) =>
    (row: Token): Result => {
      looks++;
      return each(row);
    };
  const kind: ListingKind<Token> = {
    ...TOKENS,
    keyOf: count(TOKENS.keyOf),
    guarded: TOKENS.guarded.map((fact) => ({ ...fact, of: count(fact.of) })),
    lookalikeOf: count((row) => TOKENS.lookalikeOf?.(row)),
  };
  let served: GuardedListing<Token> | undefined;
  for (const [index, rows] of listings.entries()) {
    const sent = await TOKENS.parse(rows, { source: 'v1', takenAt: START + index * 60_000 });
    served = (await guardListing({ kind, holdBackMs: HOLD_BACK_MS, rules }, sent, served)).listing;
  }
  if (!served) throw new Error('Expected at least one listing');
  return { served, looks };
}

const tokensFrom = (first: number, count: number, symbolOf: (index: number) => string) =>
  Array.from({ length: count }, (_, index) =>
    tokenRow('a', `0x${(first + index + 1).toString(16).padStart(40, '0')}`, { symbol: symbolOf(index) }),
  );

/** A step of one gateway, which restarts after it: minutes since the last step, and the changed symbols of rows. */
function alone(minutes: number, symbols: Readonly<Record<string, string | null>> = {}): Step {
  const changes = Object.entries(symbols).map(([address, symbol]) => ({
    address,
    row: symbol === null ? null : { decimals: 6, symbol },
  }));
  return { after: minutes * 60_000, changes, asks: 0, isMissed: true, isRestarted: true };
}
/** Always included: cases in which a gateway once served other values after a restart. */
const RESTARTS = [
  // The symbol of a row changes while the row is a reason to keep another one listed.
  [
    alone(1, { '0x3': 'USDC', '0x4': null }),
    alone(1, { '0x4': 'USDC' }),
    alone(1, { '0x4': null }),
    alone(1, { '0x1': 'DAI' }),
    alone(23 * 60, { '0x4': 'USDC' }),
    alone(6 * 60),
    alone(6 * 60, { '0x3': null }),
    alone(12 * 60, { '0x1': null, '0x4': 'DAI' }),
  ],
  // Two removed rows come back with the symbol of a row that the same listing lacks.
  [
    alone(1),
    alone(1, { '0x1': null }),
    alone(1, { '0x4': 'USDC' }),
    alone(24 * 60, { '0x3': null }),
    alone(1, { '0x1': 'USDC', '0x3': 'USDC', '0x4': null }),
  ],
];

it('guarded values are served only if they were first or steady for HOLD_BACK_MS, and are equal at gateways that share', async () => {
  const steps = fc.array(step, { minLength: 10, maxLength: 40, size: 'max' });
  const examples = RESTARTS.map((each): [Step[]] => [each]);
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: 30, examples });
});

it('guarded values are remembered for 10,000 removed rows if an upstream changes all its keys again and again', async () => {
  const listings = Array.from({ length: 8 }, (_, nth) =>
    tokensFrom(nth * 2000, 2000, (index) => `S${nth * 2000 + index}`),
  );
  const { served } = await guardAll(listings);
  expect(served.rows).toHaveLength(2000);
  const { gone, held, arrived } = served.guard;
  expect([gone.length, held.length, arrived.length]).toEqual([10_000, 0, 2000]);
  // The first rows stay remembered: once the memory is full, rows that were listed only briefly are not added.
  expect(gone.slice(0, 2000).map(({ row }) => row.symbol)).toEqual(listings[0]?.map(({ symbol }) => symbol));
});

it.each([
  ['each with a symbol of its own', (index: number) => `S${index}`],
  ['all with one symbol', () => 'USDC'],
])('the guard takes time in proportion to replaced addresses, %s', async (_name, symbolOf) => {
  const looksAt = async (count: number) => {
    const before = tokensFrom(0, count, symbolOf);
    const after = tokensFrom(count, count, symbolOf);
    const { served, looks } = await guardAll([before, after, [...after, ...before], after]);
    expect(served.guard.held.length).toBeLessThanOrEqual(2 * count);
    return looks;
  };
  const [few, many] = [await looksAt(250), await looksAt(1000)];
  expect(many).toBeLessThan(4.5 * few);
});
