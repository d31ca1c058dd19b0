import { LRUCache } from 'lru-cache';
import type { EvmChain, TokenListState } from '../domain/history.js';
import type { Token } from '../domain/listing.js';
import type { ChainSnapshot, TokenSnapshot } from '../snapshots/snapshot.js';
import { tokenListStateOf } from '../snapshots/snapshot.js';
import { createTokenListDocument, type TokenListDocument } from './document.js';

/** The present token lists. */
export interface TokenListDocuments {
  /** The list of all chains; undefined until both listings are there. */
  whole(served: ServedListings): TokenListDocument | Promise<TokenListDocument> | undefined;
  /** The list of one chain; `unknown` if it is no EVM chain with listed tokens. Letter case does not matter. */
  ofChain(
    served: ServedListings,
    chainKey: string,
  ): TokenListDocument | Promise<TokenListDocument> | 'unknown' | undefined;
}

export interface ServedListings {
  readonly chains: ChainSnapshot | undefined;
  readonly tokens: TokenSnapshot | undefined;
}

/** For the lists of single chains with their compressed bodies. Those of 10,000 tokens take less than 3 MB. */
const MAX_CHAIN_LIST_BYTES = 6 * 2 ** 20;
/** Estimated size of a list without its body. */
const DOCUMENT_BYTES = 1_000;

/** The lists of one state. */
interface Lists {
  readonly state: TokenListState;
  /** By lower-case key. */
  readonly chainsByKey: ReadonlyMap<string, EvmChain>;
  whole: TokenListDocument | undefined;
  readonly ofChains: LRUCache<string, TokenListDocument>;
  /** Those that are being made, by lower-case chain key; the list of all chains has none. */
  readonly making: Map<string | undefined, Promise<TokenListDocument>>;
}

function createLists(state: TokenListState): Lists {
  return {
    state,
    chainsByKey: new Map(state.chains.map((chain) => [chain[0].toLowerCase(), chain])),
    whole: undefined,
    ofChains: new LRUCache({
      maxSize: MAX_CHAIN_LIST_BYTES,
      // Includes the compressed bodies.
      sizeCalculation: ({ body }) => DOCUMENT_BYTES + Math.ceil(1.5 * body.byteLength),
    }),
    making: new Map(),
  };
}

/**
 * Creates the lists on demand, each once. They stay until the token list changes; a refresh of prices alone changes
 * nothing.
 *
 * @param onMade called with each new list of all chains
 */
export function createTokenListDocuments(onMade: (whole: TokenListDocument) => void): TokenListDocuments {
  let lists: Lists | undefined;

  function listsOf(state: TokenListState): Lists {
    if (lists?.state !== state) lists = createLists(state);
    return lists;
  }

  /** Makes a list, unless it is being made. */
  function make(
    { state, making }: Lists,
    key: string | undefined,
    rows: readonly Token[],
    chains: readonly EvmChain[],
    store: (document: TokenListDocument) => void,
  ): Promise<TokenListDocument> {
    const made =
      making.get(key) ??
      createTokenListDocument(rows, chains, state)
        .then((document) => {
          store(document);
          return document;
        })
        .finally(() => making.delete(key));
    making.set(key, made);
    return made;
  }

  return {
    whole({ chains, tokens }) {
      const state = tokens && tokenListStateOf(tokens, chains);
      if (!tokens || !state) return undefined;
      const current = listsOf(state);
      return (
        current.whole ??
        make(current, undefined, tokens.rows, state.chains, (document) => {
          current.whole = document;
          onMade(document);
        })
      );
    },
    ofChain({ chains, tokens }, chainKey) {
      const state = tokens && tokenListStateOf(tokens, chains);
      if (!tokens || !state) return undefined;
      const current = listsOf(state);
      const key = chainKey.toLowerCase();
      const chain = current.chainsByKey.get(key);
      if (!chain) return 'unknown';
      return (
        current.ofChains.get(key) ??
        make(current, key, tokens.byChain(chain[0]), [chain], (document) => {
          current.ofChains.set(key, document);
        })
      );
    },
  };
}
