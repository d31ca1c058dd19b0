import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NATIVE_PLACEHOLDER, tokenKey } from '../../../src/domain/addresses.js';
import type { EmbeddedFacts } from '../../../src/domain/guarded-facts.js';
import type { Chain, Fetched, Token } from '../../../src/domain/listing.js';
import { parseListingRules } from '../../../src/domain/listing-rules.js';
import { type GuardedListing, guardListing } from '../../../src/snapshots/changes/guard.js';
import { asSent } from '../../../src/snapshots/changes/unguarded.js';
import { LISTINGS, type ListingContext } from '../../../src/snapshots/listings.js';
import type { RefresherOptions } from '../../../src/snapshots/refresher.js';
import type { Snapshot } from '../../../src/snapshots/snapshot.js';
import { decodeListing, encodeListing } from '../../../src/storage/stored-listing.js';
import { CHAINS, type ListingKind, TOKENS } from '../../../src/upstream/listing-kinds.js';
import { tokenRow } from '../../fixtures/rows.js';
import { GatewayModel, operatorRule, shownRows } from './gateway-model.js';
import type { ModelRule } from './guard-model.js';
import { type Change, keyOfToken, mayAdd, ruleText, type Step, step, World } from './guard-world.js';

const HOLD_BACK_MS = 86_400_000;
const START = 1_800_000_000_000;
const SERVICES = { v1: 'service' };
/** Facts that are known before the first listing: the second is wrong. */
const BASELINE = new Map([
  [NATIVE_PLACEHOLDER, '18'],
  [new World().tokens[2]?.address ?? '', '18'],
]);
const EMBEDDED: EmbeddedFacts = {
  chains: [],
  chainKeys: new Map([['eip155:2', 'b']]),
  tokens: new Map(
    [...BASELINE].map(([address, decimals]) => [tokenKey('a', address), new Map([['decimals', decimals]])]),
  ),
};

/** One gateway without its edges: its listings, guarded in the same order as in a process. */
class PureGateway {
  chains: GuardedListing<Chain> | undefined;
  tokens: GuardedListing<Token> | undefined;
  rulesText = '';
  readonly model = new GatewayModel(
    HOLD_BACK_MS,
    new Map([...BASELINE].map(([address, decimals]) => [keyOfToken('a', address), { decimals }])),
    EMBEDDED.chainKeys,
  );

  async take(sentChains: Fetched<Chain>, sentTokens: Fetched<Token>, how: 'upstream' | 'peer' | 'rules') {
    const rules = parseListingRules(this.rulesText).resolve(() => this.chains?.rows ?? []);
    const context: ListingContext = {
      holdBackMs: HOLD_BACK_MS,
      embedded: () => EMBEDDED,
      operator: () => rules,
      rulesFor: () => rules,
      served: () => ({ chains: undefined, tokens: undefined }),
      chainsToCompare: () => this.chains?.rows,
    };
    const guarded = async <Row>(
      kind: ListingKind<Row>,
      { guard }: Pick<RefresherOptions<Row, Snapshot<Row>>, 'guard'>,
      sent: Fetched<Row>,
      served: Fetched<Row> | undefined,
    ) => {
      const before = served ?? (how === 'upstream' ? undefined : sent);
      const peer = how !== 'upstream' && served ? sent : undefined;
      return (await guard(asSent(kind, sent), before, peer)).listing;
    };
    this.chains = await guarded(CHAINS, LISTINGS.chains.within(context), sentChains, this.chains);
    this.tokens = await guarded(TOKENS, LISTINGS.tokens.within(context), sentTokens, this.tokens);
  }

  /** Writes both listings and reads them as another process would. */
  async restart(now: number) {
    const { chains, tokens } = this;
    if (!chains || !tokens) return;
    this.chains = undefined;
    this.tokens = undefined;
    await this.take(await stored(CHAINS, chains, now), await stored(TOKENS, tokens, now), 'peer');
  }

  served() {
    return shownRows(this.chains?.rows ?? [], this.tokens?.rows ?? []);
  }
}

async function stored<Row>(
  kind: ListingKind<Row>,
  listing: Fetched<Row>,
  now: number,
): Promise<Fetched<Row>> {
  const record = await encodeListing(kind, listing, SERVICES);
  return decodeListing(kind, record, SERVICES, now);
}

function expectAsModelled(gateway: PureGateway, world: World, isSeen: boolean): void {
  expect(gateway.served()).toEqual(gateway.model.served());
  if (!isSeen) return;
  // The upstream's order; rows that it no longer sends, or contradicts itself on, come last.
  const order = [...world.modelTokens()].flatMap(([key, rows]) => (rows.length === 1 ? [key] : []));
  const served = gateway.tokens?.rows.map(({ chainKey, address }) => keyOfToken(chainKey, address)) ?? [];
  const sent = order.filter((key) => served.includes(key));
  expect(served.slice(0, sent.length)).toEqual(sent);
}

/** Since when a row is replaced may change: once the new row is listed, the clock is that of the old one. */
const withoutClocks = ({ chains, tokens }: ReturnType<PureGateway['served']>) => ({
  chains,
  tokens: tokens.map((row) => ({
    ...row,
    heldBack: row.heldBack.map(([fact, since]) => [fact, fact === 'address' ? 0 : since]),
  })),
});

async function expectIdempotent(gateway: PureGateway): Promise<void> {
  const { chains, tokens } = gateway;
  const before = gateway.served();
  if (!chains || !tokens) return;
  await gateway.take(chains, tokens, 'rules');
  expect(withoutClocks(gateway.served())).toEqual(withoutClocks(before));
  gateway.chains = chains;
  gateway.tokens = tokens;
}

async function run(steps: readonly Step[]): Promise<void> {
  const world = new World();
  const gateways = [new PureGateway(), new PureGateway()] as const;
  const rules: ModelRule[] = [];
  let now = START;
  let newest: PureGateway | undefined;
  for (const { after, changes, asks, isMissed, restarts, operator } of steps) {
    now += after;
    world.change(changes);
    const asker = gateways[asks];
    const other = gateways[1 - asks] as PureGateway;
    // Before a gateway asks, it reads what was shared meanwhile.
    if (newest && newest !== asker && newest.model.at > asker.model.at) await share(newest, asker, rules);
    const rows = world.rows();
    const origin = { source: 'v1', takenAt: now };
    await asker.take(
      await CHAINS.parse(rows.chains, origin),
      await TOKENS.parse(rows.tokens, origin),
      'upstream',
    );
    asker.model.take(now, world.modelChains(), world.modelTokens(), rules);
    expectAsModelled(asker, world, true);
    await expectIdempotent(asker);
    newest = asker;
    if (!isMissed) {
      await share(asker, other, rules);
      expectAsModelled(other, world, false);
    }
    if (restarts !== 2) {
      const restarted = gateways[restarts];
      const before = restarted.served();
      await restarted.restart(now);
      expect(withoutClocks(restarted.served())).toEqual(withoutClocks(before));
      restarted.model.takeAgain(rules);
      expectAsModelled(restarted, world, false);
    }
    const rule = operatorRule(asker.model, operator);
    if (!rule || !mayAdd(rules, rule)) continue;
    rules.push(rule);
    for (const gateway of gateways) {
      gateway.rulesText = rules.map(ruleText).join('\n');
      const { chains, tokens, model } = gateway;
      if (!chains || !tokens) continue;
      await gateway.take(chains, tokens, 'rules');
      model.takeAgain(rules);
      expectAsModelled(gateway, world, false);
    }
  }
}

async function share(from: PureGateway, to: PureGateway, rules: readonly ModelRule[]): Promise<void> {
  const { chains, tokens } = from;
  if (!chains || !tokens) return;
  await to.take(chains, tokens, 'peer');
  to.model.read(from.model, rules);
}

/** Guards listings of tokens one after the other, a minute apart, and counts how often a row was looked at. */
async function guardAll(listings: readonly (readonly object[])[]) {
  let looks = 0;
  const count = <Args extends readonly unknown[], Result>(each: (...args: Args) => Result) => {
    return (...args: Args): Result => {
      looks++;
      return each(...args);
    };
  };
  const kind: ListingKind<Token> = {
    ...TOKENS,
    keyOf: count(TOKENS.keyOf),
    guarded: TOKENS.guarded.map((fact) => ({ ...fact, of: count(fact.of) })),
    lookalikeOf: count((row: Token) => TOKENS.lookalikeOf?.(row)),
  };
  const rules = { verdictOn: () => undefined, keptFacts: () => undefined };
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

const quiet: Step = {
  after: 3_600_000,
  changes: [],
  asks: 0,
  isMissed: false,
  restarts: 2,
  operator: 'nothing',
};
const change = (what: Change['what'], a: number, b = 0) => ({ ...quiet, changes: [{ what, a, b }] });

/** Cases that random steps seldom produce. */
const RARE: readonly (readonly Step[])[] = [
  // A row that one gateway holds back, and that the other has never seen.
  [quiet, { ...change('add', 0, 5), isMissed: true }, change('decimals', 40, 1), quiet],
  // The second chain with a number goes, then the first; a restart; the second is back.
  [
    quiet,
    change('chainId', 1, 0),
    { ...quiet, after: 90_000_000 },
    change('removeChain', 1),
    { ...change('removeChain', 0), restarts: 0 },
    change('backChain', 1),
  ],
];

describe('guarded values', () => {
  it('equal those of a simple model, on two gateways with restarts and rules', async () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 40, size: 'max' });
    await fc.assert(fc.asyncProperty(steps, run), { numRuns: 30, examples: RARE.map((each) => [each]) });
  });

  it('are remembered for 10,000 removed rows if an upstream changes all its keys again and again', async () => {
    const listings = Array.from({ length: 8 }, (_, nth) =>
      tokensFrom(nth * 2000, 2000, (index) => `S${nth * 2000 + index}`),
    );
    const { served } = await guardAll(listings);
    expect(served.rows).toHaveLength(2000);
    const { gone, held, arrived } = served.guard;
    expect([gone.length, held.length, arrived.length]).toEqual([10_000, 0, 2000]);
    // Those that were listed first, not those that came and went.
    expect(gone.slice(0, 2000).map(({ row }) => row.symbol)).toEqual(
      listings[0]?.map(({ symbol }) => symbol),
    );
  });

  it.each([
    ['each with a symbol of its own', (index: number) => `S${index}`],
    ['all with one symbol', () => 'USDC'],
  ])('take time in proportion to the rows if all addresses are replaced, %s', async (_name, symbolOf) => {
    const looksAt = async (count: number) => {
      const before = tokensFrom(0, count, symbolOf);
      const after = tokensFrom(count, count, symbolOf);
      const { served, looks } = await guardAll([before, after, [...after, ...before], after]);
      expect(served.guard.held.length).toBeLessThanOrEqual(2 * count);
      return looks;
    };
    const [few, many] = [await looksAt(500), await looksAt(2000)];
    expect(many).toBeLessThan(4.5 * few);
  });
});
