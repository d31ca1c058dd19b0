/* The token lists of the present state as JSON, each made on demand and once. */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { EvmChain, TokenListState } from '../domain/history.js';
import type { Token } from '../domain/listing.js';
import { type Encoding, encode } from '../http/encodings.js';
import { forEachChunk } from '../scheduling/chunks.js';
import { tokenListContentOf } from '../snapshots/history/token-list.js';
import { shortDigest } from '../snapshots/short-digest.js';
import { type ChainSnapshot, type TokenSnapshot, tokenListStateOf } from '../snapshots/snapshot.js';

/** Allowed by the schema: letters, digits and spaces. */
const NAME = 'Chains and Tokens';
/** For the lists of single chains with their compressed bodies. Those of 10,000 tokens take less than 3 MB. */
const MAX_CHAIN_LIST_BYTES = 6 * 2 ** 20;
/** Estimated size of a list without its body. */
const DOCUMENT_BYTES = 1_000;

/** A token list as JSON. Compressed bodies are made once and on demand. */
export class TokenListDocument {
  private readonly encoded = new Map<Encoding, Promise<Uint8Array<ArrayBuffer>>>();

  constructor(
    readonly body: Uint8Array<ArrayBuffer>,
    /** A digest of the body. */
    private readonly digest: string,
    /** How many tokens it has. The schema does not allow a list without any. */
    readonly count: number,
    /** How many tokens of its chains are left out because the schema does not allow them. */
    readonly omitted: number,
  ) {
    // Uncompressed, it must not be a copy.
    this.encoded.set('identity', Promise.resolve(body));
  }

  etag(encoding: Encoding): string {
    return encoding === 'identity' ? `"${this.digest}"` : `"${this.digest}-${encoding}"`;
  }

  bytes(encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> {
    const bytes =
      this.encoded.get(encoding) ??
      encode(this.body, encoding, true).then((result) => new Uint8Array(result));
    this.encoded.set(encoding, bytes);
    return bytes;
  }
}

/**
 * Makes the token list of these chains, in chunks that yield to requests.
 *
 * @param rows tokens, perhaps also of other chains
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
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  const body = new Uint8Array(Buffer.concat(parts));
  return new TokenListDocument(body, shortDigest(digest), entries.length, omitted);
}

export interface ServedListings {
  readonly chains: ChainSnapshot | undefined;
  readonly tokens: TokenSnapshot | undefined;
}

/**
 * Gives the list of all chains, or of the one with this key in any letter case.
 *
 * @returns undefined until both listings are there; a promise of undefined if the chain has no list
 */
export type TokenListDocuments = (
  served: ServedListings,
  chainKey?: string,
) => Promise<TokenListDocument | undefined> | undefined;

/** The lists of one state. */
interface Lists {
  readonly state: TokenListState;
  /** By lower-case key. */
  readonly chains: ReadonlyMap<string, EvmChain>;
  whole?: Promise<TokenListDocument> | undefined;
  readonly ofChains: LRUCache<string, TokenListDocument, TokenSnapshot>;
}

function createLists(state: TokenListState): Lists {
  const chains = new Map(state.chains.map((chain) => [chain[0].toLowerCase(), chain]));
  const ofChains = new LRUCache<string, TokenListDocument, TokenSnapshot>({
    maxSize: MAX_CHAIN_LIST_BYTES,
    // Includes the compressed bodies.
    sizeCalculation: ({ body }) => DOCUMENT_BYTES + Math.ceil(1.5 * body.byteLength),
    // A list that is evicted while it is made is answered with all the same.
    ignoreFetchAbort: true,
    fetchMethod: (key, _before, { context }) => {
      const chain = chains.get(key);
      return chain && createDocument(context.byChain(chain[0]), [chain], state);
    },
  });
  return { state, chains, ofChains };
}

/**
 * Creates the lists. They stay until the token list changes; a refresh of prices alone changes nothing.
 *
 * @param onMade called with each new list of all chains
 */
export function createTokenListDocuments(onMade: (whole: TokenListDocument) => void): TokenListDocuments {
  let lists: Lists | undefined;

  async function makeWhole(current: Lists, { rows }: TokenSnapshot): Promise<TokenListDocument> {
    try {
      const whole = await createDocument(rows, current.state.chains, current.state);
      onMade(whole);
      return whole;
    } catch (error) {
      current.whole = undefined;
      throw error;
    }
  }

  return ({ chains, tokens }, chainKey) => {
    const state = tokens && tokenListStateOf(tokens, chains);
    if (!tokens || !state) return undefined;
    if (lists?.state !== state) lists = createLists(state);
    if (chainKey === undefined) {
      lists.whole ??= makeWhole(lists, tokens);
      return lists.whole;
    }
    const key = chainKey.toLowerCase();
    return lists.chains.has(key) ? lists.ofChains.fetch(key, { context: tokens }) : NONE;
  };
}

const NONE = Promise.resolve(undefined);
