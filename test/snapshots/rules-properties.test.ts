/** The operator's `keep` rules hold for generated listings, while rules come and go, at gateways that share and over restarts. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Token } from '../../src/domain/listing.js';
import { parseListingRules, resolveRules } from '../../src/domain/listing-rules.js';
import { type GuardedListing, guardListing } from '../../src/snapshots/guard.js';
import { asSent } from '../../src/snapshots/known-rows.js';
import { decodeListing, encodeListing } from '../../src/storage/stored-listing.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { tokenRow } from '../fixtures/rows.js';

const HOUR = 3_600_000;
const HOLD_BACK_MS = 24 * HOUR;
const START = 1_800_000_000_000;
const SERVICES = { v1: 'service' };
const ADDRESSES = ['0x1', '0x2', '0x3', '0x4', '0x5', '0x6'];

interface Facts {
  readonly decimals: number;
  readonly symbol: string;
}
const textOf = ({ decimals, symbol }: Facts) => `${decimals} ${symbol}`;

const KEPT: Facts = { decimals: 6, symbol: 'USDC' };
const RULES = ['0x1', '0x2', '0x3'].flatMap((address) =>
  (['decimals', 'symbol', 'address'] as const).map((fact) => ({
    address,
    fact,
    text: `keep a:${address} ${fact} ${fact === 'address' ? address : KEPT[fact]}`,
  })),
);

const facts: fc.Arbitrary<Facts> = fc.record({
  decimals: fc.constantFrom(6, 18),
  symbol: fc.constantFrom('USDC', 'ETH', 'DAI'),
});
const step = fc.record({
  after: fc.constantFrom(1 / 60, 1, 6, 12, 23, 30).map((hours) => hours * HOUR),
  changes: fc.array(fc.tuple(fc.constantFrom(...ADDRESSES), fc.option(facts, { freq: 2 })), { maxLength: 3 }),
  rule: fc.option(fc.constantFrom(...RULES), { freq: 4 }),
  /** Whether another gateway gets the listing, or the rules are read again. */
  isGuardedAgain: fc.boolean(),
  isRestarted: fc.constantFrom(true, false, false),
});
type Step = typeof step extends fc.Arbitrary<infer Generated> ? Generated : never;

/** The rows without the times of replaced addresses: gateways can have compared them with different new rows. */
const comparable = ({ rows }: GuardedListing<Token>) =>
  rows.map(({ heldBack, ...row }) => ({
    ...row,
    heldBack: heldBack.map((each) => (each.fact === 'address' ? { ...each, since: 0 } : each)),
  }));

async function run(steps: readonly Step[]): Promise<void> {
  const sent = new Map<string, Facts>();
  for (const [nth, symbol] of ['USDC', 'ETH', 'DAI', 'X'].entries())
    sent.set(ADDRESSES[nth] ?? '', { decimals: 6, symbol });
  const rules = new Set<(typeof RULES)[number]>();
  let served: GuardedListing<Token> | undefined;
  /** By row: its facts, and since when every listing has had them and no rule has refused them. */
  const runs = new Map<string, { facts: string; since: number }>();
  /** By row: the facts that may be served without a rule. */
  const allowed = new Map<string, Set<string>>();
  const everServed = new Set<string>();
  /** By row: the last served symbol that is not only from a rule. */
  const symbols = new Map<string, string>();
  let now = START;

  const keeps = (address: string, fact: string) =>
    [...rules].some((rule) => rule.address === address && rule.fact === fact);

  function noteAnswer(): void {
    for (const address of ADDRESSES) {
      const row = sent.get(address);
      const text = row ? textOf(row) : 'gone';
      const kept = row ? (['decimals', 'symbol'] as const).filter((fact) => keeps(address, fact)) : [];
      const isRefused = kept.some((fact) => row?.[fact] !== KEPT[fact]);
      if (isRefused || runs.get(address)?.facts !== text) runs.set(address, { facts: text, since: now });
      if (!row) continue;
      const ofRow = allowed.get(address) ?? new Set();
      allowed.set(address, ofRow);
      if (!everServed.has(address) || now - (runs.get(address)?.since ?? now) >= HOLD_BACK_MS)
        ofRow.add(text);
      // If the upstream sends the value of a rule, it counts as accepted.
      for (const fact of kept)
        if (row[fact] === KEPT[fact])
          for (const decimals of [6, 18])
            for (const symbol of ['USDC', 'ETH', 'DAI', 'X'])
              ofRow.add(textOf({ decimals, symbol, [fact]: KEPT[fact] }));
    }
  }

  function expectKept({ rows }: GuardedListing<Token>): void {
    for (const row of rows) {
      const { address, heldBack, price } = row;
      const kept = (['decimals', 'symbol'] as const).filter((fact) => keeps(address, fact));
      for (const fact of kept) expect(row[fact]).toBe(KEPT[fact]);
      if (kept.length === 0) expect([...(allowed.get(address) ?? [])]).toContain(textOf(row));
      const ofUpstream = sent.get(address);
      const isHeldBack = !ofUpstream || textOf(ofUpstream) !== textOf(row);
      expect([heldBack.length > 0, price === null]).toEqual([isHeldBack, isHeldBack]);
    }
    // No new row takes the symbol of a removed row whose address a rule keeps.
    const missing = [...rules].filter(({ address, fact }) => fact === 'address' && !sent.has(address));
    const lost = missing.map(({ address }) => symbols.get(address));
    const news = rows.filter(({ address }) => !everServed.has(address) && !keeps(address, 'symbol'));
    expect(news.filter(({ symbol }) => lost.includes(symbol))).toEqual([]);
  }

  for (const { after, changes, rule, isGuardedAgain, isRestarted } of steps) {
    now += after;
    for (const [address, row] of changes) {
      if (row) sent.set(address, row);
      else if (sent.size > 1) sent.delete(address);
    }
    if (rule && !rules.delete(rule)) rules.add(rule);
    noteAnswer();
    const text = [...rules].map((each) => each.text).join('\n');
    const options = {
      kind: TOKENS,
      holdBackMs: HOLD_BACK_MS,
      rules: resolveRules(parseListingRules(text), []),
    };
    const rows = [...sent].map(([address, row]) => tokenRow('a', address, { ...row, price: { usd: 1 } }));
    const answer = await TOKENS.parse(rows, { source: 'v1', takenAt: now });
    const { listing } = await guardListing(options, asSent(TOKENS, answer), served);
    const again = await guardListing(options, asSent(TOKENS, listing), listing);
    for (const each of [listing, again.listing]) expectKept(each);
    expect(comparable(again.listing)).toEqual(comparable(listing));
    served = isGuardedAgain ? again.listing : listing;
    for (const { address, symbol, heldBack } of listing.rows) {
      everServed.add(address);
      if (!keeps(address, 'symbol') || heldBack.length === 0) symbols.set(address, symbol);
    }
    if (!isRestarted) continue;
    const stored = await encodeListing(TOKENS, listing, SERVICES);
    const read = await decodeListing(TOKENS, stored, SERVICES, now);
    const restarted = await guardListing(options, asSent(TOKENS, read), read);
    expect(restarted.listing.rows).toEqual(listing.rows);
    served = restarted.listing;
  }
}

const ruleOn = (name: string) => RULES.find(({ address, fact }) => `${address} ${fact}` === name) ?? null;

function at(hours: number, changes: Step['changes'], rule?: string): Step {
  return {
    after: hours * HOUR,
    changes,
    rule: rule ? ruleOn(rule) : null,
    isGuardedAgain: false,
    isRestarted: true,
  };
}

/** Always included: a row returns with refused decimals, while another row with its symbol leaves. */
const RETURNS: Step[] = [
  at(1, []),
  at(1, [['0x2', null]]),
  at(1, [['0x4', { decimals: 6, symbol: 'ETH' }]]),
  at(30, []),
  at(1, [
    ['0x4', null],
    ['0x2', { decimals: 18, symbol: 'ETH' }],
  ]),
  at(6, [], '0x2 decimals'),
  at(1, []),
  at(23, [], '0x2 decimals'),
];

it('keep rules hold for generated listings while rules come and go, at gateways that share, and over restarts', async () => {
  const steps = fc.array(step, { minLength: 5, maxLength: 40, size: 'max' });
  await fc.assert(fc.asyncProperty(steps, run), { numRuns: 60, examples: [[RETURNS]] });
});
