/** Makes the token lists as JSON, each on demand and once. */
import type { EvmChain, TokenListState } from '../domain/history.js';
import type { Token } from '../domain/listing.js';
import { Body } from '../http/encodings.js';
import { forEachChunk } from '../scheduling/chunks.js';
import { type ChainSnapshot, type TokenSnapshot, tokenListStateOf } from '../snapshots/snapshot.js';
import { tokenListContentOf } from '../snapshots/token-list-state.js';

/** The name of the lists. The schema allows letters, digits and spaces. */
const NAME = 'Chains and Tokens';

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

/**
 * Gives the list of all chains, or of the chain with this key in any letter case.
 *
 * @returns undefined until the token listing is loaded and its EVM chains are known, from the chain listing or from the
 *   history of the token listing; a promise of undefined if the chain has no list
 */
export type TokenListDocuments = (
  served: { readonly chains: ChainSnapshot | undefined; readonly tokens: TokenSnapshot | undefined },
  chainKey?: string,
) => Promise<TokenListDocument | undefined> | undefined;

const NONE = Promise.resolve(undefined);

/**
 * Creates the lists. Each is made once and kept until the token list changes. New prices do not change it.
 *
 * @param onMade called with each new list of all chains
 */
export function createTokenListDocuments(onMade: (whole: TokenListDocument) => void): TokenListDocuments {
  let state: TokenListState | undefined;
  /** The lists of `state` by the lower-case key of their chain; the list of all chains by undefined. */
  let documents = new Map<string | undefined, Promise<TokenListDocument>>();

  return ({ chains, tokens }, chainKey) => {
    const current = tokens && tokenListStateOf(tokens, chains);
    if (!tokens || !current) return undefined;
    if (current !== state) {
      state = current;
      documents = new Map();
    }
    const key = chainKey?.toLowerCase();
    const known = documents.get(key);
    if (known) return known;
    const chain = current.chains.find(([each]) => each.toLowerCase() === key);
    if (key !== undefined && !chain) return NONE;
    const document = chain
      ? createDocument(tokens.byChain(chain[0]), [chain], current)
      : createDocument(tokens.rows, current.chains, current);
    documents.set(key, document);
    document.then(chain ? undefined : onMade, () => documents.delete(key));
    return document;
  };
}
