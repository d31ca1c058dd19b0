import fc from 'fast-check';
import { NATIVE_PLACEHOLDER } from '../../../src/domain/addresses.js';
import type { GuardedFact } from '../../../src/domain/listing.js';
import { parseListingRules } from '../../../src/domain/listing-rules.js';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import type { ModelRow, ModelRule } from './guard-model.js';

/*
 * An upstream that errs at random: what it lists, what happens to it from one listing to the next, and the same rows in
 * the form of the model.
 */

/** What may happen to a row. `a` chooses the row and `b` the value. */
export interface Change {
  readonly what: (typeof WHATS)[number];
  readonly a: number;
  readonly b: number;
}

const WHATS = [
  'decimals',
  'symbol',
  'remove',
  'back',
  'replace',
  'rename',
  'add',
  'price',
  'duplicate',
  'revert',
  'chainId',
  'chainType',
  'native',
  'removeChain',
  'backChain',
  'duplicateChain',
] as const;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** One listing of the upstream, and what the gateways do about it. */
export interface Step {
  /** How long after the listing before, in milliseconds. */
  readonly after: number;
  readonly changes: readonly Change[];
  /** The gateway that refreshes. */
  readonly asks: 0 | 1;
  /** Whether the other gateway misses the shared listing. */
  readonly isMissed: boolean;
  /** The gateway that is restarted after it; 2: no restart. */
  readonly restarts: 0 | 1 | 2;
  readonly operator: 'accept' | 'keep' | 'nothing';
}

const change: fc.Arbitrary<Change> = fc.record({
  what: fc.constantFrom(...WHATS, 'price' as const, 'price' as const, 'revert' as const),
  // Mostly a few rows, so that much happens to each of them.
  a: fc.oneof({ weight: 4, arbitrary: fc.nat(4) }, { weight: 1, arbitrary: fc.nat(999) }),
  b: fc.nat(17),
});

export const step: fc.Arbitrary<Step> = fc.record({
  after: fc.constantFrom(
    MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    HOUR,
    6 * HOUR,
    11 * HOUR,
    12 * HOUR,
    23 * HOUR,
    30 * HOUR,
  ),
  changes: fc.oneof(
    { weight: 2, arbitrary: fc.constant<Change[]>([]) },
    { weight: 3, arbitrary: fc.array(change, { maxLength: 4 }) },
  ),
  asks: fc.constantFrom(0, 1),
  isMissed: fc.oneof(
    { weight: 2, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
  restarts: fc.constantFrom(0, 1, 2, 2, 2, 2, 2, 2),
  operator: fc.oneof(
    { weight: 8, arbitrary: fc.constant('nothing' as const) },
    { weight: 2, arbitrary: fc.constant('accept' as const) },
    { weight: 1, arbitrary: fc.constant('keep' as const) },
  ),
});

interface WorldToken {
  readonly chainKey: string;
  readonly address: string;
  decimals: number;
  symbol: string;
  usd: number | null;
  isListed: boolean;
  /** The decimals of a second row under the same key, in the next listing. */
  twin?: number | undefined;
  readonly first: { readonly decimals: number; readonly symbol: string };
}

interface WorldChain {
  readonly chainKey: string;
  chainId: number;
  chainType: string;
  symbol: string;
  decimals: number;
  isListed: boolean;
  twin?: number | undefined;
  readonly first: { readonly chainId: number; readonly chainType: string };
}

/** The last two look like the first, and so do the last two of "ETH". */
const SYMBOLS = ['USDC', 'USDС', 'usdc', 'ETH', 'ЕTH', 'DAI'] as const;
const CHAIN_KEYS = ['a', 'b', 'c', 'd', 'e'] as const;
const TOKENS_OF_A_CHAIN = 8;
/** The most tokens that are missing at a time, so that no listing counts as shrunk. */
const MAX_GONE = 8;

export const isNative = (address: string) => address.toLowerCase() === NATIVE_PLACEHOLDER.toLowerCase();
/** Folds only the spellings that occur here. */
export const keyOfToken = (chainKey: string, address: string) => `${chainKey} ${address.toLowerCase()}`;

function at<Item>(items: readonly Item[], index: number): Item {
  return items[index % items.length] as Item;
}

export class World {
  readonly tokens: WorldToken[] = [];
  readonly chains: WorldChain[] = CHAIN_KEYS.map((chainKey, index) => {
    const first = { chainId: index + 1, chainType: 'evm' };
    return { chainKey, ...first, first, symbol: 'ETH', decimals: 18, isListed: true };
  });

  /**
   * @param hasNatives whether natives are among the tokens, so that the listings can disagree on them
   * @param mostChainsGone with more than one, a chain listing may count as shrunk
   */
  constructor(
    hasNatives = true,
    private readonly mostChainsGone = 2,
  ) {
    for (const { chainKey } of this.chains) {
      if (hasNatives) this.add(chainKey, 'ETH', 18, NATIVE_PLACEHOLDER, 2000);
      for (let index = 1; index < TOKENS_OF_A_CHAIN; index++) {
        const symbol = index < 4 ? at(SYMBOLS, index * 5) : `T${index}`;
        this.add(chainKey, symbol, 6, undefined, symbol === 'ETH' ? 2000 : 1 + index / 10);
      }
    }
  }

  private add(
    chainKey: string,
    symbol: string,
    decimals: number,
    address: string | undefined,
    usd: number | null,
  ) {
    const fresh = `0xAb${(this.tokens.length + 1).toString(16).padStart(38, '0')}`;
    const first = { decimals, symbol };
    this.tokens.push({ chainKey, address: address ?? fresh, ...first, first, usd, isListed: true });
  }

  /** Changes the listing; the next one no longer has the second rows of this one. */
  change(changes: readonly Change[]): void {
    for (const row of [...this.tokens, ...this.chains]) row.twin = undefined;
    for (const each of changes) this.apply(each);
  }

  private apply({ what, a, b }: Change): void {
    const listed = this.tokens.filter(({ isListed }) => isListed);
    const gone = this.tokens.filter(({ isListed }) => !isListed);
    const goneChains = this.chains.filter(({ isListed }) => !isListed);
    const token = at(listed, a);
    const chain = at(this.chains, a);
    const mayGo = gone.length < MAX_GONE && !isNative(token.address);
    if (what === 'decimals') token.decimals = at([6, 18, 8], b);
    else if (what === 'symbol') token.symbol = at(SYMBOLS, b);
    else if (what === 'revert') Object.assign(token, token.first);
    else if (what === 'duplicate') token.twin = at([6, 18, 8], b);
    else if (what === 'add') this.add(chain.chainKey, at(SYMBOLS, b), 6, undefined, at([1, 2000, null], b));
    else if (what === 'remove') token.isListed = !mayGo;
    else if (what === 'back' && gone.length > 0) at(gone, a).isListed = true;
    else if (what === 'replace' && mayGo) {
      token.isListed = false;
      this.add(token.chainKey, token.symbol, token.decimals, undefined, token.usd);
    } else if (what === 'rename') {
      this.add(token.chainKey, token.symbol, token.decimals, undefined, token.usd);
      token.symbol = `Old${token.symbol}`;
    } else if (what === 'price') {
      const usd = token.usd ?? 1;
      token.usd = at([null, 0, 2e9, usd * 1.1, usd * 12, usd / 12, usd * 1000, usd / 1000, 1], b);
    } else if (what === 'chainId') chain.chainId = at([1, 2, 3, 4, 5], b);
    else if (what === 'chainType') chain.chainType = at(['evm', 'solana'], b);
    else if (what === 'native') {
      chain.decimals = at([18, 6, 18], b);
      chain.symbol = at(['ETH', 'ETC', 'ETH'], b);
    } else if (what === 'removeChain') chain.isListed = goneChains.length >= this.mostChainsGone;
    else if (what === 'backChain' && goneChains.length > 0) {
      const back = at(goneChains, a);
      Object.assign(back, back.first, { isListed: true });
    } else if (what === 'duplicateChain') chain.twin = at([1, 2, 3, 4, 5], b);
  }

  /** The rows of both listings as the upstream sends them. */
  rows(): { readonly chains: readonly object[]; readonly tokens: readonly object[] } {
    const tokens = this.tokens.flatMap(({ isListed, chainKey, address, decimals, symbol, usd, twin }) => {
      if (!isListed) return [];
      const row = tokenRow(chainKey, address, { decimals, symbol, price: usd === null ? null : { usd } });
      return twin === undefined ? [row] : [row, { ...row, address: address.toLowerCase(), decimals: twin }];
    });
    const chains = this.chains.flatMap(
      ({ isListed, chainKey, chainId, chainType, symbol, decimals, twin }) => {
        if (!isListed) return [];
        const nativeCurrency = { chainKey, name: symbol, symbol, decimals, address: NATIVE_PLACEHOLDER };
        const chain = chainRow(chainKey, { chainId, chainType, nativeCurrency });
        return twin === undefined
          ? [chain]
          : [chain, { ...chain, chainKey: chainKey.toUpperCase(), chainId: twin }];
      },
    );
    return { chains, tokens };
  }

  /** The tokens in the form of the model, by key. */
  modelTokens(): ReadonlyMap<string, readonly ModelRow[]> {
    const listed = this.tokens.filter(({ isListed }) => isListed);
    return new Map(
      listed.map(({ chainKey, address, decimals, symbol, usd, twin }) => {
        const key = keyOfToken(chainKey, address);
        const rowWith = (value: number) => ({
          key,
          facts: { decimals: String(value), symbol },
          address,
          usd,
        });
        return [key, [...new Set([decimals, twin ?? decimals])].map(rowWith)];
      }),
    );
  }

  /** The chains in the form of the model, by key. */
  modelChains(): ReadonlyMap<string, readonly ModelRow[]> {
    const listed = this.chains.filter(({ isListed }) => isListed);
    return new Map(
      listed.map(({ chainKey, chainId, chainType, symbol, decimals, twin }) => {
        const nativeCurrency = `${symbol} ${decimals} ${NATIVE_PLACEHOLDER}`;
        const rowWith = (id: number) => ({
          key: chainKey,
          facts: { chainId: String(id), chainType, nativeCurrency },
          usd: null,
        });
        return [chainKey, [...new Set([chainId, twin ?? chainId])].map(rowWith)];
      }),
    );
  }
}

/** How a token looks to a person, for the symbols that occur here. */
export function lookOfToken({
  key,
  facts,
}: {
  readonly key: string;
  readonly facts: ModelRow['facts'];
}): string {
  const look = (facts.symbol ?? '').toLowerCase().replaceAll('с', 'c').replaceAll('е', 'e');
  return `${key.split(' ')[0]} ${look}`;
}

/** A rule of the model in the language of the operator. */
export function ruleText({ key, fact, from, value }: ModelRule): string {
  const place = key.replace(' ', ':');
  const values = [from, value].filter((each) => each !== undefined).map((each) => JSON.stringify(each));
  return `${from === undefined ? 'keep' : 'accept'} ${place} ${fact satisfies string as GuardedFact} ${values.join(' ')}`;
}

/** Whether the file of rules can have it beside the others. */
export function mayAdd(rules: readonly ModelRule[], rule: ModelRule): boolean {
  try {
    parseListingRules([...rules, rule].map(ruleText).join('\n'));
    return true;
  } catch {
    return false;
  }
}
