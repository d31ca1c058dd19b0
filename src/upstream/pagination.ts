import { MAX_ROWS } from '../domain/row-limits.js';
import { malformed } from '../domain/upstream-error.js';
import type { Logger } from '../logger.js';
import type { UpstreamAnswer, UpstreamHttp, UpstreamRequest } from './http/client.js';
import { kindOf, rowsOf, tooManyRows } from './rows.js';

/** What {@link fetchAllPages} takes beside the question. */
export interface PaginationOptions {
  readonly http: UpstreamHttp;
  /** The limit on all pages of one answer together, counted after decompression. */
  readonly maxBytes: number;
  readonly log: Logger;
}

const MAX_PAGES = 100;

/**
 * The rows of all pages of one answer in their order, of any form each. A listing that is known to be cut
 * short is refused whole, since what it lacks would look as if it were no longer there; a page that names one
 * for the second time is the last.
 *
 * @param question what the first page answers; its path is the name of the rows, too
 * @param firstPage the answer to it
 * @throws UpstreamError of whatever page fails, and UPSTREAM_MALFORMED if one has another form or there are
 *   too many
 */
export async function fetchAllPages(
  { http, maxBytes, log }: PaginationOptions,
  request: UpstreamRequest,
  firstPage: UpstreamAnswer,
): Promise<readonly unknown[]> {
  const name = request.path;
  const rows: unknown[] = [];
  const followed = new Set<string>();
  let bytes = 0;
  for (let page = firstPage; ; ) {
    bytes += page.bytes;
    if (bytes > maxBytes) {
      throw malformed(`expected at most ${maxBytes} bytes in all pages of "${name}" together, got more`);
    }
    const more = rowsOf(name, page.json);
    if (rows.length + more.length > MAX_ROWS) throw tooManyRows(name, rows.length + more.length);
    for (const row of more) rows.push(row);
    const nextToken = nextTokenOf(page.json);
    if (nextToken === undefined) return rows;
    if (followed.has(nextToken)) {
      const counts = { listing: name, pages: followed.size + 1, rows: rows.length };
      log.warn(counts, 'The upstream named a page for the second time: the pages so far are used');
      return rows;
    }
    followed.add(nextToken);
    if (followed.size >= MAX_PAGES) {
      throw malformed(`expected at most ${MAX_PAGES} pages of "${name}", got the token of a further one`);
    }
    page = await http.getJson({
      ...request,
      query: { ...request.query, 'pagination[nextToken]': nextToken },
    });
  }
}

/** What leads to the next page; undefined on the last one. */
function nextTokenOf(json: unknown): string | undefined {
  const { pagination } = json as { readonly pagination?: unknown };
  if (pagination === undefined || pagination === null) return undefined;
  if (typeof pagination !== 'object' || Array.isArray(pagination)) {
    throw malformed(`expected an object "pagination", got ${kindOf(pagination)}`);
  }
  const { nextToken } = pagination as { readonly nextToken?: unknown };
  if (nextToken === undefined || nextToken === null || nextToken === '') return undefined;
  if (typeof nextToken !== 'string') {
    throw malformed(`expected a string "pagination.nextToken", got ${kindOf(nextToken)}`);
  }
  return nextToken;
}
