/** Serves `/tokenlist.json`. */
import { cachingHeaders, staleListingsHeader } from '../graph/dependencies.js';
import { encodingFor } from '../http/encodings.js';
import { hasTag } from '../http/headers.js';
import { type PlainResponse, plainRefusal, type Refusal, shown } from '../http/refusal.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import { createTokenListDocuments, type TokenListDocument } from './documents.js';

/** Responds to a request for a token list. @param params the parameters of the query string */
export type TokenListHandler = (
  request: Pick<Request, 'method' | 'headers'>,
  params: URLSearchParams,
) => Promise<PlainResponse>;

/**
 * Creates the handler of `/tokenlist.json`: the listed tokens of all EVM chains or, with `?chainKey=`, of one chain, in
 * the format of Uniswap's token lists.
 */
export function createTokenListHandler({
  snapshots,
  metrics,
}: {
  readonly snapshots: Pick<Snapshots, 'current' | 'freshness'>;
  readonly metrics: { tokenListOmitted(rows: number): void };
}): TokenListHandler {
  const find = createTokenListDocuments(({ omitted }) => metrics.tokenListOmitted(omitted));

  function headersFor({ omitted }: TokenListDocument): Record<string, string> {
    const now = Date.now();
    // Tokens from storage can be served before the chain listing is loaded.
    const listings = snapshots.current().chains ? (['chains', 'tokens'] as const) : (['tokens'] as const);
    const { stale, freshForMs, takenAt } = snapshots.freshness({ listings }, now);
    const staleListings = staleListingsHeader(stale);
    const pricesGoodForMs = Number.POSITIVE_INFINITY;
    const caching = cachingHeaders({ now, staleListings, freshForMs, pricesGoodForMs, takenAt }, 0);
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

  return async ({ method, headers }, params) => {
    if (method !== 'GET' && method !== 'HEAD') {
      return refused(405, `Expected GET or HEAD, got ${method}.`, { allow: 'GET, HEAD, OPTIONS' });
    }
    const names = [...params.keys()];
    const [other] = names.filter((name) => name !== 'chainKey');
    if (other !== undefined) return refused(400, `Expected no parameter but chainKey, got ${shown(other)}.`);
    if (names.length > 1) return refused(400, `Expected one chainKey, got ${names.length}.`);
    const chainKey = params.get('chainKey') ?? undefined;
    const finding = find(snapshots.current(), chainKey);
    if (finding === undefined) {
      const message = 'There is no snapshot of both listings yet. Ask again in 1 s.';
      return refused(503, message, { 'retry-after': '1' });
    }
    const document = await finding;
    // The schema does not allow an empty list.
    if (!document?.count) {
      return refused(
        404,
        chainKey === undefined
          ? 'The token list is empty: it has the listed tokens of EVM chains, without native ones.'
          : `Expected the chainKey of an EVM chain that has tokens for a token list, got ${shown(chainKey)}.`,
      );
    }
    const found = { ...headersFor(document), etag: document.etag };
    if (hasTag(headers.get('if-none-match'), document.etag)) {
      return { status: 304, headers: found, body: null };
    }
    const { encoding, parts, byteLength } = await document.encoded(
      encodingFor(headers.get('accept-encoding')),
    );
    const coding: Record<string, string> = encoding === 'identity' ? {} : { 'content-encoding': encoding };
    const content = { ...found, ...coding, 'content-length': String(byteLength) };
    return { status: 200, headers: content, body: method === 'HEAD' ? null : (parts[0] ?? null) };
  };
}

function refused(status: number, message: string, headers: Refusal['headers'] = {}): PlainResponse {
  return plainRefusal({ status, message, headers });
}
