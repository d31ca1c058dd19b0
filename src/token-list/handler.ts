/** Makes and serves `/tokenlist.json`. Each list is made at its first request, and kept until it changes. */
import type { Token } from '../domain/listing.js';
import type { EvmChain, TokenListState } from '../domain/listing-memory.js';
import { memoized } from '../domain/memoized.js';
import { shown } from '../domain/text-limits.js';
import { cachingHeaders } from '../graph/dependencies.js';
import { Body } from '../http/encodings.js';
import { type PlainResponse, plainRefusal } from '../http/refusal.js';
import { fileResponse } from '../pages/static-page.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import { tokenListContentOf } from '../snapshots/token-list-state.js';

/** The name of the lists. The schema of token lists allows only letters, digits and spaces. */
const NAME = 'Chains and Tokens';

type TokenListDocument = Awaited<ReturnType<typeof createDocument>>;

/** `count`: the tokens in the list. `omitted`: the tokens left out (see `tokenListContentOf`). */
async function createDocument(
  rows: readonly Token[],
  chains: readonly EvmChain[],
  { version, at }: TokenListState,
) {
  const { entries, omitted } = await tokenListContentOf(rows, chains);
  const list = { name: NAME, timestamp: new Date(at).toISOString(), version, tokens: entries };
  return { body: new Body([Buffer.from(JSON.stringify(list))], 'file'), count: entries.length, omitted };
}

/**
 * The listed tokens of all EVM chains or, with `?chainKey=`, of one chain, in the format of Uniswap's token lists.
 *
 * @param onOmitted called with the number of omitted tokens of each new list of all chains
 */
export function createTokenListHandler(snapshots: Snapshots, onOmitted: (rows: number) => void) {
  /** The lists of a state by the lower-case key of their chain; the key of the list of all chains is undefined. */
  const documentsOf = memoized(
    (_state: TokenListState) => new Map<string | undefined, Promise<TokenListDocument>>(),
  );

  /** Undefined until the token listing and its EVM chains are known; a promise of undefined if the chain has no list. */
  function find(chainKey: string | undefined): Promise<TokenListDocument | undefined> | undefined {
    const { tokens } = snapshots.current();
    const current = tokens?.history.tokenList;
    if (!tokens || !current) return undefined;
    const documents = documentsOf(current);
    const key = chainKey?.toLowerCase();
    const known = documents.get(key);
    if (known) return known;
    const chain = current.chains.find(([each]) => each === key);
    if (key !== undefined && !chain) return Promise.resolve(undefined);
    const document = chain
      ? createDocument(tokens.byChain(chain[0]), [chain], current)
      : createDocument(tokens.rows, current.chains, current);
    documents.set(key, document);
    document.then(chain ? undefined : ({ omitted }) => onOmitted(omitted), () => documents.delete(key));
    return document;
  }

  function headersFor({ omitted }: TokenListDocument): Record<string, string> {
    const now = Date.now();
    const freshness = snapshots.freshness(snapshots.current(), { listings: ['chains', 'tokens'] }, now);
    const { staleListings } = freshness;
    const caching = cachingHeaders({ ...freshness, now, pricesGoodForMs: Number.POSITIVE_INFINITY }, 0);
    const headers: Record<string, string> = {};
    for (let nth = 0; nth < caching.length; nth += 2) headers[caching[nth] ?? ''] = caching[nth + 1] ?? '';
    return {
      'content-type': 'application/json; charset=utf-8',
      ...headers,
      ...(staleListings === undefined ? {} : { 'x-stale-listings': staleListings }),
      'x-omitted-rows': String(omitted),
      vary: 'Accept-Encoding',
    };
  }

  return async (request: Request, { searchParams: params }: URL): Promise<PlainResponse> => {
    const names = [...params.keys()];
    const [other] = names.filter((name) => name !== 'chainKey');
    const refused = (status: number, message: string) => plainRefusal({ status, message });
    if (other !== undefined) return refused(400, `Expected no parameter but chainKey, got ${shown(other)}.`);
    if (names.length > 1) return refused(400, `Expected one chainKey, got ${names.length}.`);
    const chainKey = params.get('chainKey') ?? undefined;
    const finding = find(chainKey);
    if (finding === undefined) {
      const message = 'The gateway does not have both listings yet. Ask again in 1 s.';
      return plainRefusal({ status: 503, message, headers: { 'retry-after': '1' } });
    }
    const document = await finding;
    // The schema of token lists does not allow an empty one.
    if (!document?.count) {
      return refused(
        404,
        chainKey === undefined
          ? 'There is no token for the list: it can have only listed tokens of EVM chains, without native ones.'
          : `Expected the chainKey of an EVM chain that has tokens for a token list, got ${shown(chainKey)}.`,
      );
    }
    return fileResponse({ body: document.body, headers: headersFor(document) }, request);
  };
}
