import DataLoader from 'dataloader';
import { tokenKey } from '../domain/addresses.js';
import type { Chain, Token } from '../domain/listing.js';
import type { ChainSnapshot, TokenSnapshot } from '../snapshots/snapshot.js';
import type { View } from '../snapshots/view/operation-view.js';

export interface LateReadsOptions {
  /** The snapshots that this operation reads. */
  readonly view: View;
  /** Waits for a turn. Called after waiting for the upstream, since an answer resumes many operations at once. */
  readonly nextTurn: () => Promise<void>;
}

/** The reads of one operation from listings that have no snapshot yet. All that wait for a listing share one turn. */
export class LateReads {
  private arrivingChains: Promise<ChainSnapshot> | undefined;
  private arrivingTokens: Promise<TokenSnapshot> | undefined;

  private readonly chainLoader = new DataLoader<string, Chain | null>(async (chainKeys) => {
    const chains = await this.chains();
    return chainKeys.map((chainKey) => chains.byKey(chainKey) ?? null);
  });

  private readonly tokenLoader = new DataLoader<TokenPlace, Token | null, string>(
    async (places) => {
      const tokens = await this.tokens();
      return places.map(({ chainKey, address }) => tokens.byAddress(chainKey, address) ?? null);
    },
    { cacheKeyFn: ({ chainKey, address }) => tokenKey(chainKey, address) },
  );

  constructor(private readonly options: LateReadsOptions) {}

  chains(): Promise<ChainSnapshot> {
    this.arrivingChains ??= inTurn(Promise.resolve(this.options.view.chains()), this.options.nextTurn);
    return this.arrivingChains;
  }

  tokens(): Promise<TokenSnapshot> {
    this.arrivingTokens ??= inTurn(Promise.resolve(this.options.view.tokens()), this.options.nextTurn);
    return this.arrivingTokens;
  }

  chainByKey(chainKey: string): Promise<Chain | null> {
    return this.chainLoader.load(chainKey);
  }

  tokenByAddress(chainKey: string, address: string): Promise<Token | null> {
    return this.tokenLoader.load({ chainKey, address });
  }
}

type TokenPlace = Pick<Token, 'chainKey' | 'address'>;

/** Waits for what the upstream gives, and then for a turn: one answer of the upstream can resume many operations. */
export async function inTurn<Value>(value: Promise<Value>, nextTurn: () => Promise<void>): Promise<Value> {
  try {
    return await value;
  } finally {
    await nextTurn();
  }
}
