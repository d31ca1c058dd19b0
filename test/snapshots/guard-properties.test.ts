/** Guarded values and the operator's `keep` rules keep their promises for generated listings, in bounded memory and time. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Fetched, Token } from '../../src/domain/listing.js';
import { parseListingRules, resolveRules } from '../../src/domain/listing-rules.js';
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
const NO_RULES = resolveRules([], []);
const ADDRESSES = ['0x1', '0x2', '0x3', '0x4', '0x5', '0x6'];
/** The second symbol looks like the first: its last letter is Cyrillic. */
const SYMBOLS = ['USDC', 'USDС', 'ETH', 'DAI'];
const FACTS = ['decimals', 'symbol'] as const;

type Listing = GuardedListing<Token>;
type Facts = { readonly decimals: number; readonly symbol: string };
const textOf = ({ decimals, symbol }: Facts) => `${decimals} ${symbol}`;
/** Stands for the facts of a row that is not sent. */
const GONE = 'gone';

const KEPT: Facts = { decimals: 6, symbol: 'USDC' };
const RULES = ['0x1', '0x2', '0x3'].flatMap((address) =>
  ([...FACTS, 'address'] as const).map((fact) => ({
    address,
    fact,
    text: `keep a:${address} ${fact} ${fact === 'address' ? address : KEPT[fact]}`,
  })),
);

/** The upstream and the operator. From their answers and rules alone, it notes which values a gateway may serve. */
class Model {
  readonly rows = new Map<string, Facts>();
  readonly rules = new Set<(typeof RULES)[number]>();
  /** By row: its facts, and since when all answers have had them and no rule has refused them. */
  private readonly runs = new Map<string, { readonly facts: string; readonly since: number }>();
  /** By row: the facts that may be served without a rule. They were the first ones, or steady for the hold-back period. */
  private readonly allowed = new Map<string, Set<string>>();
  /** By row: the last served symbol that is not only from a rule; empty if there was none. */
  private readonly everServed = new Map<string, string>();
  /** By row and look: when the row was last served with the look. */
  private readonly servedAt = new Map<string, number>();
  /** By look (see `lookalikeKey`): the rows that ever had such a symbol. */
  private readonly withLook = new Map<string, Set<string>>();
  /** By row and look: since when the row has neither been sent nor served with the look. */
  private readonly leftAt = new Map<string, number>();
  now = START;

  private ageOf(address: string): number {
    return this.now - (this.runs.get(address)?.since ?? this.now);
  }

  private keeps(address: string, fact: string): boolean {
    return [...this.rules].some((rule) => rule.address === address && rule.fact === fact);
  }

  /** Guards a listing as a gateway does. The memory of a listing of a peer or from a disk, given twice, is continued. */
  async guarded(sent: Fetched<Token>, before: Fetched<Token> | undefined): Promise<Listing> {
    const rules = parseListingRules([...this.rules].map(({ text }) => text).join('\n'));
    const options = { kind: TOKENS, holdBackMs: HOLD_BACK_MS, rules: resolveRules(rules, []) };
    return (await guardListing(options, asSent(TOKENS, sent), before)).listing;
  }

  async answer(): Promise<Fetched<Token>> {
    for (const address of ADDRESSES) {
      const row = this.rows.get(address);
      const facts = row ? textOf(row) : GONE;
      const kept = row ? FACTS.filter((fact) => this.keeps(address, fact)) : [];
      const isRefused = kept.some((fact) => row?.[fact] !== KEPT[fact]);
      if (isRefused || this.runs.get(address)?.facts !== facts)
        this.runs.set(address, { facts, since: this.now });
      if (!row) continue;
      const look = lookalikeKey(row.symbol);
      this.withLook.set(look, (this.withLook.get(look) ?? new Set()).add(address));
      const allowed = this.allowed.get(address) ?? new Set();
      this.allowed.set(address, allowed);
      if (!this.everServed.has(address) || this.ageOf(address) >= HOLD_BACK_MS) allowed.add(facts);
      // If the upstream sends the value of a rule, it counts as accepted.
      for (const fact of kept.filter((each) => row[each] === KEPT[each]))
        for (const decimals of [6, 18])
          for (const symbol of [...SYMBOLS, 'X'])
            allowed.add(textOf({ decimals, symbol, [fact]: KEPT[fact] }));
    }
    const rows = [...this.rows].map(([address, row]) =>
      tokenRow('a', address, { ...row, price: { usd: 1 } }),
    );
    return TOKENS.parse(rows, { source: 'v1', takenAt: this.now });
  }

  /** Fails unless a gateway with the last answer serves only allowed values, and shows held-back ones. */
  expectGuarded({ rows }: Listing, hasRules: boolean): void {
    for (const row of rows) {
      const { address, heldBack, price } = row;
      const sent = this.rows.get(address);
      const kept = FACTS.filter((fact) => this.keeps(address, fact));
      for (const fact of kept) expect(row[fact]).toBe(KEPT[fact]);
      if (kept.length === 0) expect([...(this.allowed.get(address) ?? [])]).toContain(textOf(row));
      const differing = sent ? FACTS.filter((fact) => row[fact] !== sent[fact]) : ['address'];
      const isHeldBack = differing.length > 0;
      expect([heldBack.length > 0, price === null]).toEqual([isHeldBack, isHeldBack]);
      if (hasRules) continue;
      expect(heldBack.map(({ fact }) => fact)).toEqual(differing);
      if (!sent) continue;
      for (const { since } of heldBack) expect(since).toBe(this.runs.get(address)?.since);
      if (this.ageOf(address) >= HOLD_BACK_MS) expect(heldBack).toEqual([]);
    }
    if (this.everServed.size === 0) return;
    const newcomers = rows.filter(({ address }) => !this.everServed.has(address));
    // No new row takes the symbol of a row whose address a rule keeps, while the row is not sent with it. If a rule also
    // keeps the symbol of the row, the last one before that rule is not reserved.
    const missing = [...this.rules].filter(({ address, fact }) => {
      const sent = this.rows.get(address);
      if (fact !== 'address' || !sent) return fact === 'address';
      const before = lookalikeKey(this.everServed.get(address) ?? '');
      return lookalikeKey(sent.symbol) !== before && !this.keeps(address, 'symbol');
    });
    const lost = missing.map(({ address }) => this.everServed.get(address));
    const free = newcomers.filter(({ address }) => !this.keeps(address, 'symbol'));
    expect(free.filter(({ symbol }) => lost.includes(symbol))).toEqual([]);
    for (const { address, symbol } of hasRules ? [] : newcomers) {
      const look = lookalikeKey(symbol);
      const alike = this.withLook.get(look) ?? [];
      const [other, ...more] = [...alike].filter((each) => each !== address);
      const servedAt = this.servedAt.get(`${other} ${look}`);
      if (!other || more.length > 0 || servedAt === undefined) continue;
      const now = [this.rows.get(other), rows.find((row) => row.address === other)];
      if (now.some((row) => row && lookalikeKey(row.symbol) === look)) continue;
      // A new row does not replace a removed or renamed row of the same look before the end of the hold-back period.
      const isRenamed = lookalikeKey(this.everServed.get(other) ?? '') !== look;
      const leftMs = this.now - (isRenamed ? servedAt : (this.leftAt.get(`${other} ${look}`) ?? this.now));
      expect(Math.max(leftMs, this.ageOf(address))).toBeGreaterThanOrEqual(HOLD_BACK_MS);
    }
  }

  noteServed({ rows }: Listing): void {
    const served = new Map(rows.map((row) => [row.address, row]));
    for (const { address, symbol, heldBack } of rows) {
      this.servedAt.set(`${address} ${lookalikeKey(symbol)}`, this.now);
      const isOfRule = this.keeps(address, 'symbol') && heldBack.length > 0;
      this.everServed.set(address, isOfRule ? (this.everServed.get(address) ?? '') : symbol);
    }
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

/** The rows without the start time of replaced ones, which changes once the new row is listed. */
const comparable = ({ rows }: Listing) =>
  rows.map(({ heldBack, ...row }) => ({
    ...row,
    heldBack: heldBack.map((held) => (held.fact === 'address' ? { ...held, since: 0 } : held)),
  }));

const facts: fc.Arbitrary<Facts> = fc.record({
  decimals: fc.constantFrom(6, 18),
  symbol: fc.constantFrom(...SYMBOLS),
});
const change = fc.tuple(fc.constantFrom(...ADDRESSES), fc.option(facts, { freq: 2 }));
const stepWith = (rule: fc.Arbitrary<(typeof RULES)[number] | null>) =>
  fc.record({
    after: fc.constantFrom(1 / 60, 1, 6, 12, 23, 30).map((hours) => hours * HOUR),
    /** Null removes the row. */
    changes: fc.oneof(fc.constant([]), fc.array(change, { maxLength: 3 })),
    /** A rule that is added, or deleted if it is there. */
    rule,
    /** Which of two gateways asks the upstream, and whether the other one misses the listing. */
    asks: fc.constantFrom(0, 1),
    isMissed: fc.constantFrom(true, false, false),
    isRestarted: fc.constantFrom(true, false, false, false),
  });
type Step = ReturnType<typeof stepWith> extends fc.Arbitrary<infer Generated> ? Generated : never;

async function run(steps: readonly Step[]): Promise<void> {
  const model = new Model();
  const hasRules = steps.some(({ rule }) => rule !== null);
  const listings: (Listing | undefined)[] = [];
  for (const [nth, symbol] of ['USDC', 'ETH', 'DAI', 'X'].entries())
    model.rows.set(ADDRESSES[nth] ?? '', { decimals: 6, symbol });
  let newest: Listing | undefined;
  for (const { after, changes, rule, asks, isMissed, isRestarted } of steps) {
    let own = listings[asks];
    // A gateway reads the newest shared listing before it asks the upstream.
    if (newest && newest.takenAt > (own?.takenAt ?? 0)) own = await model.guarded(newest, newest);
    model.now += after;
    for (const [address, row] of changes) {
      if (row) model.rows.set(address, row);
      else if (model.rows.size > 1) model.rows.delete(address);
    }
    if (rule && !model.rules.delete(rule)) model.rules.add(rule);
    const answer = await model.answer();
    newest = await model.guarded(answer, own);
    const ofPeer = await model.guarded(newest, newest);
    for (const each of [newest, ofPeer]) model.expectGuarded(each, hasRules);
    expect(comparable(ofPeer)).toEqual(comparable(newest));
    model.noteServed(newest);
    listings[asks] = newest;
    if (!isMissed) listings[1 - asks] = ofPeer;
    if (!isRestarted) continue;
    const stored = await encodeListing(TOKENS, newest, SERVICES);
    const read = await decodeListing(TOKENS, stored, SERVICES, model.now);
    const restarted = await model.guarded(read, read);
    expect(restarted.rows).toEqual(newest.rows);
    listings[asks] = restarted;
  }
}

/** Guards listings of tokens one after the other, a minute apart, and counts how often a row was looked at. */
async function guardAll(listings: readonly (readonly object[])[], holdBackMs = HOLD_BACK_MS) {
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
    lookalikeOf: count((row) => TOKENS.lookalikeOf(row)),
    claimOf: count((row) => TOKENS.claimOf(row)),
  };
  let served: Listing | undefined;
  for (const [index, rows] of listings.entries()) {
    const sent = await TOKENS.parse(rows, { source: 'v1', takenAt: START + index * 60_000 });
    served = (await guardListing({ kind, holdBackMs, rules: NO_RULES }, sent, served)).listing;
  }
  if (!served) throw new Error('Expected at least one listing');
  return { served, looks };
}

const tokensFrom = (first: number, count: number, symbolOf: (index: number) => string) =>
  Array.from({ length: count }, (_, index) =>
    tokenRow('a', `0x${(first + index + 1).toString(16).padStart(40, '0')}`, { symbol: symbolOf(index) }),
  );

/** A step of one gateway, which restarts after it. A row is its facts, its new symbol, or null if it is removed. */
function alone(hours: number, rows: Record<string, Facts | string | null> = {}, rule?: string): Step {
  const changes = Object.entries(rows).map(([address, row]): [string, Facts | null] => [
    address,
    typeof row === 'string' ? { decimals: 6, symbol: row } : row,
  ]);
  const named = RULES.find(({ address, fact }) => `${address} ${fact}` === rule) ?? null;
  return { after: hours * HOUR, changes, rule: named, asks: 0, isMissed: true, isRestarted: true };
}
const MINUTE = 1 / 60;
/** Always included: cases in which a gateway once served other values after a restart. */
const RESTARTS = [
  // The symbol of a row changes while the row is a reason to keep another one listed.
  [
    alone(MINUTE, { '0x3': 'USDC', '0x4': null }),
    alone(MINUTE, { '0x4': 'USDC' }),
    alone(MINUTE, { '0x4': null }),
    alone(MINUTE, { '0x1': 'DAI' }),
    alone(23, { '0x4': 'USDC' }),
    alone(6),
    alone(6, { '0x3': null }),
    alone(12, { '0x1': null, '0x4': 'DAI' }),
  ],
  // Two removed rows come back with the symbol of a row that the same listing lacks.
  [
    alone(MINUTE),
    alone(MINUTE, { '0x1': null }),
    alone(MINUTE, { '0x4': 'USDC' }),
    alone(24, { '0x3': null }),
    alone(MINUTE, { '0x1': 'USDC', '0x3': 'USDC', '0x4': null }),
  ],
];
/** Always included: a row returns with refused decimals, while another row with its symbol leaves. */
const RETURNS = [
  alone(1),
  alone(1, { '0x2': null }),
  alone(1, { '0x4': 'ETH' }),
  alone(30),
  alone(1, { '0x4': null, '0x2': { decimals: 18, symbol: 'ETH' } }),
  alone(6, {}, '0x2 decimals'),
  alone(1),
  alone(23, {}, '0x2 decimals'),
];

it('guarded values are served only if they were first or steady for HOLD_BACK_MS, and are equal at gateways that share', async () => {
  const steps = fc.array(stepWith(fc.constant(null)), { minLength: 10, maxLength: 40, size: 'max' });
  const examples = RESTARTS.map((each): [Step[]] => [each]);
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: 30, examples });
});

it('keep rules hold for generated listings while rules come and go, at gateways that share, and over restarts', async () => {
  const rule = fc.option(fc.constantFrom(...RULES), { freq: 4 });
  const steps = fc.array(stepWith(rule), { minLength: 5, maxLength: 40, size: 'max' });
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: 60, examples: [[RETURNS]] });
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

it('the earlier symbols of 10,000 renamed rows are remembered', async () => {
  const listings = ['S', 'T'].map((symbol) => tokensFrom(0, 10_001, (index) => symbol + index));
  const { served } = await guardAll(listings, 0);
  expect(served.guard.former).toHaveLength(10_000);
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
