/** The token lists of the present state as JSON, each made on demand and once. */
import { LRUCache } from 'lru-cache';
import type { EvmChain, TokenListState } from '../domain/history.js';
import type { Token } from '../domain/listing.js';
import { Body } from '../http/encodings.js';
import { forEachChunk } from '../scheduling/chunks.js';
import { type ChainSnapshot, type TokenSnapshot, tokenListStateOf } from '../snapshots/snapshot.js';
import { tokenListContentOf } from '../snapshots/token-list-state.js';

/** The name of the lists. The schema allows letters, digits and spaces. */
const NAME = 'Chains and Tokens';
/** Limit on the lists of single chains with their compressed bodies. The lists of 10,000 tokens take less than 3 MB. */
const MAX_CHAIN_LIST_BYTES = 6 * 2 ** 20;
/** Estimated size of a list without its body. */
const DOCUMENT_BYTES = 1_000;

/** A token list as JSON. */
export class TokenListDocument extends Body {
  /**
   * @param count how many tokens it has; the schema does not allow a list without any
   * @param omitted how many tokens of its chains are left out because the schema does not allow them
   */
  constructor(
    parts: readonly Uint8Array<ArrayBuffer>[],
    readonly count: number,
    readonly omitted: number,
  ) {
    super(parts, 'file');
  }
}

/**
 * Makes the token list of these chains, in chunks that yield to requests.
 *
 * @param rows tokens, which may include tokens of other chains
 */
async function createDocument(
  rows: readonly Token[],
  chains: readonly EvmChain[],
  { version, at }: TokenListState,
): Promise<TokenListDocument> {
  const { entries, omitted } = await tokenListContentOf(rows, chains);
  const facts = JSON.stringify({ name: NAME, timestamp: new Date(at).toISOString(), version });
  const parts = [Buffer.from(`${facts.slice(0, -1)},"tokens":[`)];
  await forEachChunk(entries, (chunk, offset) => {
    parts.push(Buffer.from((offset > 0 ? ',' : '') + JSON.stringify(chunk).slice(1, -1)));
  });
  parts.push(Buffer.from(']}'));
  return new TokenListDocument([Buffer.concat(parts)], entries.length, omitted);
}

export interface ServedListings {
  readonly chains: ChainSnapshot | undefined;
  readonly tokens: TokenSnapshot | undefined;
}

/**
 * Gives the list of all chains, or of the chain with this key in any letter case.
 *
 * @returns undefined until the token listing is loaded and its EVM chains are known, from the chain listing or from the
 *   history of the token listing; a promise of undefined if the chain has no list
 */
export type TokenListDocuments = (
  served: ServedListings,
  chainKey?: string,
) => Promise<TokenListDocument | undefined> | undefined;

/** The key of the list of all chains. No chain has this key. */
const WHOLE = '';

/** The lists of one state. */
interface Lists {
  readonly state: TokenListState;
  /** The chains by their lower-case key. */
  readonly chains: ReadonlyMap<string, EvmChain>;
  /** The lists by the lower-case key of their chain; the list of all chains by {@link WHOLE}. */
  readonly documents: LRUCache<string, TokenListDocument, TokenSnapshot>;
}

/**
 * Creates the lists. They are kept until the token list changes. A refresh of prices alone does not change it.
 *
 * @param onMade called with each new list of all chains
 */
export function createTokenListDocuments(onMade: (whole: TokenListDocument) => void): TokenListDocuments {
  let lists: Lists | undefined;

  function createLists(state: TokenListState): Lists {
    const chains = new Map(state.chains.map((chain) => [chain[0].toLowerCase(), chain]));
    const documents = new LRUCache<string, TokenListDocument, TokenSnapshot>({
      maxSize: MAX_CHAIN_LIST_BYTES,
      // Includes the compressed bodies. The list of all chains always fits.
      sizeCalculation: ({ plain }, key) =>
        DOCUMENT_BYTES + (key === WHOLE ? 0 : Math.ceil(1.5 * plain.byteLength)),
      // A list that is evicted while it is made is still returned.
      ignoreFetchAbort: true,
      async fetchMethod(key, _before, { context }) {
        const chain = chains.get(key);
        if (chain) return createDocument(context.byChain(chain[0]), [chain], state);
        const whole = await createDocument(context.rows, state.chains, state);
        onMade(whole);
        return whole;
      },
    });
    return { state, chains, documents };
  }

  return ({ chains, tokens }, chainKey) => {
    const state = tokens && tokenListStateOf(tokens, chains);
    if (!tokens || !state) return undefined;
    if (lists?.state !== state) lists = createLists(state);
    const key = chainKey?.toLowerCase() ?? WHOLE;
    const isKnown = chainKey === undefined || lists.chains.has(key);
    return isKnown ? lists.documents.fetch(key, { context: tokens }) : NONE;
  };
}

const NONE = Promise.resolve(undefined);
