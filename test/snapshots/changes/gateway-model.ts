import type { Chain, Token } from '../../../src/domain/listing.js';
import { type ExpectedRow, GuardModel, type ModelRow, type ModelRule } from './guard-model.js';
import { isNative, keyOfToken, lookOfToken } from './guard-world.js';

/*
 * What one gateway is expected to serve of both listings: guarded values, prices, CAIP-2 identifiers, and natives on
 * which the listings agree.
 */

type Rows = ReadonlyMap<string, readonly ModelRow[]>;

const NOTHING: Rows = new Map();

export class GatewayModel {
  readonly chains: GuardModel;
  readonly tokens: GuardModel;
  /** The identifier of each chain when it was listed last. */
  private numbers = new Map<string, string | null>();
  private sent: { readonly chains: Rows; readonly tokens: Rows } = { chains: NOTHING, tokens: NOTHING };

  constructor(
    private readonly holdBackMs: number,
    baseline: ReadonlyMap<string, ModelRow['facts']>,
    private readonly embedded: ReadonlyMap<string, string>,
  ) {
    this.chains = new GuardModel({ holdBackMs, lookOf: () => undefined });
    this.tokens = new GuardModel({ holdBackMs, lookOf: lookOfToken, baseline });
  }

  get at(): number {
    return this.tokens.at;
  }

  /** Processes an answer of the upstream or a shared listing. */
  take(at: number, chains: Rows, tokens: Rows, rules: readonly ModelRule[], peer?: GatewayModel): void {
    const listedBefore = [...this.chains.listed.keys()];
    const goneBefore = [...this.chains.goneAt];
    this.chains.take(at, chains, rules, peer?.chains);
    const stillListed = listedBefore.filter((key) => this.chains.listed.has(key));
    this.number(at, stillListed, goneBefore, peer);
    this.tokens.take(at, tokens, rules, peer?.tokens);
    this.compareNatives(rules);
    this.tokens.price(({ facts }) => facts.symbol ?? '');
    this.sent = { chains, tokens };
  }

  /** Reads the listing of a peer. The first time it continues with the memory of the peer. */
  read(peer: GatewayModel, rules: readonly ModelRule[]): void {
    if (this.at > 0) {
      this.take(peer.at, peer.sent.chains, peer.sent.tokens, rules, peer);
      return;
    }
    this.chains.copy(peer.chains);
    this.tokens.copy(peer.tokens);
    this.numbers = new Map(peer.numbers);
    this.sent = peer.sent;
  }

  /** Processes the last listing again, with other rules or after a restart. */
  takeAgain(rules: readonly ModelRule[]): void {
    if (this.at > 0) this.take(this.at, this.sent.chains, this.sent.tokens, rules);
  }

  /** What is expected to be served, in the form of {@link shownRows}. */
  served() {
    const heldBack = ({ key, held }: ExpectedRow) => shownHeld(key, [...held]);
    return {
      chains: byKey([...this.chains.listed.values()]).map((row) => ({
        key: row.key,
        chainId: Number(row.facts.chainId),
        chainType: row.facts.chainType,
        native: row.facts.nativeCurrency?.split(' ').slice(0, 2).join(' '),
        caip2: this.numbers.get(row.key) ?? null,
        heldBack: heldBack(row),
      })),
      tokens: byKey([...this.tokens.listed.values()]).map((row) => ({
        key: row.key,
        decimals: Number(row.facts.decimals),
        symbol: row.facts.symbol,
        price: row.usd === null ? null : { usd: row.usd, asOf: this.at },
        heldBack: heldBack(row),
      })),
    };
  }

  /** The value of a token's fact that the upstream sends; undefined if it sends none, or several. */
  sentValue(row: ModelRow, fact: string): string | undefined {
    const { tokens } = this.sent;
    if (fact === 'address') {
      const rivals = [...this.tokens.waiting].flatMap((key) => tokens.get(key) ?? []);
      return rivals.find((rival) => lookOfToken(rival) === lookOfToken(row))?.address;
    }
    const [sent, ...others] = tokens.get(row.key) ?? [];
    return others.length === 0 ? sent?.facts[fact] : undefined;
  }

  /** Of several chains that claim a number, only the one has it that had it before, also if it is just back. */
  private number(
    at: number,
    stillListed: readonly string[],
    goneBefore: readonly (readonly [key: string, since: number])[],
    peer: GatewayModel | undefined,
  ): void {
    const numbers = new Map([...(peer?.numbers ?? []), ...this.numbers]);
    const recent = [...goneBefore, ...this.chains.goneAt].filter(([, since]) => at - since < this.holdBackMs);
    const claims = [...this.chains.listed.values()].map(({ key, facts }) => ({
      key,
      number: facts.chainType === 'evm' ? `eip155:${facts.chainId}` : null,
    }));
    /** A chain that is now listed with another number has lost the old one. */
    const claimsOther = (key: string, number: string) =>
      claims.some((claim) => claim.key === key && claim.number !== number);
    const holderOf = (number: string) =>
      [...stillListed, ...recent.map(([key]) => key)].find(
        (key) => numbers.get(key) === number && !claimsOther(key, number),
      );
    for (const { key, number } of claims) {
      if (number === null) {
        this.numbers.set(key, null);
        continue;
      }
      const isAlone = claims.filter((claim) => claim.number === number).length === 1;
      const holder = holderOf(number) ?? (isAlone ? key : this.embedded.get(number));
      this.numbers.set(key, holder === key ? number : null);
    }
    for (const [key, number] of numbers) if (!this.numbers.has(key)) this.numbers.set(key, number);
  }

  private compareNatives(rules: readonly ModelRule[]): void {
    for (const { key: chainKey, facts } of this.chains.listed.values()) {
      const [, decimals, address = ''] = facts.nativeCurrency?.split(' ') ?? [];
      const key = keyOfToken(chainKey, address);
      const row = this.tokens.listed.get(key);
      if (!row || !isNative(address) || row.held.size > 0 || row.facts.decimals === decimals) continue;
      const isKept = rules.some(
        (rule) => rule.key === key && rule.from === undefined && rule.fact === 'decimals',
      );
      if (isKept) continue;
      this.tokens.listed.set(key, { ...row, usd: null, held: new Map([['decimals', 0]]) });
    }
  }
}

const byKey = <Row extends { readonly key: string }>(rows: readonly Row[]) =>
  rows.toSorted((one, other) => (one.key < other.key ? -1 : 1));

/** The rows that a gateway serves, by key, in the form in which they are compared with those of a model. */
export function shownRows(chains: readonly Chain[], tokens: readonly Token[]) {
  const heldBack = (key: string, row: Chain | Token) =>
    shownHeld(
      key,
      row.heldBack.map(({ fact, since }) => [fact, since]),
    );
  return {
    chains: byKey(chains.map((row) => ({ ...row, key: row.chainKey }))).map(({ key, ...row }) => ({
      key,
      chainId: row.chainId,
      chainType: row.chainType,
      native: `${row.nativeCurrency.symbol} ${row.nativeCurrency.decimals}`,
      caip2: row.caip2,
      heldBack: heldBack(key, row),
    })),
    tokens: byKey(tokens.map((row) => ({ ...row, key: keyOfToken(row.chainKey, row.address) }))).map(
      ({ key, ...row }) => ({
        key,
        decimals: row.decimals,
        symbol: row.symbol,
        price: row.price,
        heldBack: heldBack(key, row),
      }),
    ),
  };
}

/** Since when two listings disagree on a native's decimals is not modelled. */
function shownHeld(key: string, held: readonly (readonly [fact: string, since: number])[]) {
  return held.map(([fact, since]) => [fact, isNative(key.split(' ')[1] ?? '') ? 0 : since] as const).sort();
}

/** The rule that an operator writes for the first token that is held back. */
export function operatorRule(
  model: GatewayModel,
  verb: 'accept' | 'keep' | 'nothing',
): ModelRule | undefined {
  if (verb === 'nothing') return undefined;
  for (const row of model.tokens.listed.values()) {
    const { key, facts, address } = row;
    for (const fact of row.held.keys()) {
      const from = fact === 'address' ? address : facts[fact];
      const value = model.sentValue(row, fact);
      if (from === undefined || value === undefined || value === from) continue;
      return verb === 'accept' ? { key, fact, from, value } : { key, fact, value: from };
    }
  }
  return undefined;
}
