import { MAX_ROWS } from '../domain/listing.js';
import { malformed } from '../domain/upstream-error.js';
import type { UpstreamAnswer, UpstreamRequest } from './http/client.js';
import { describeType, rowsOf, tooManyRows } from './rows.js';
import type { ServiceOptions } from './service.js';

const MAX_PAGES = 100;

/** All pages of an answer together. Their age is that of the oldest page, at the time of the first request. */
export interface Pages extends Pick<UpstreamAnswer, 'sentAt' | 'ageMs'> {
  /** The unchecked rows of all pages, in order. */
  readonly rows: readonly unknown[];
}

/**
 * Fetches the pages after the first.
 *
 * If a page cannot be had, the whole listing fails: the missing rows would look as if they were gone. A page that
 * repeats an earlier token is the last.
 *
 * @param request the request for the first page; its path is also the name of the array of rows
 * @throws UpstreamError of the page that fails; UPSTREAM_MALFORMED if a page does not have the specified form, or if
 *   there are too many
 */
export async function fetchAllPages(
  { http, maxBytes, log }: ServiceOptions,
  request: UpstreamRequest,
  firstPage: UpstreamAnswer,
): Promise<Pages> {
  const name = request.path;
  const rows: unknown[] = [];
  const followed = new Set<string>();
  const { sentAt } = firstPage;
  let { ageMs } = firstPage;
  let bytes = 0;
  for (let page = firstPage; ; ) {
    ageMs = Math.max(ageMs, page.ageMs - (page.sentAt - sentAt));
    bytes += page.bytes;
    if (bytes > maxBytes) {
      throw malformed(`expected at most ${maxBytes} bytes in all pages of "${name}" together, got more`);
    }
    const more = rowsOf(name, page.json);
    if (rows.length + more.length > MAX_ROWS) throw tooManyRows(name, rows.length + more.length);
    for (const row of more) rows.push(row);
    const nextToken = nextTokenOf(page.json);
    if (nextToken === undefined) return { rows, sentAt, ageMs };
    if (followed.has(nextToken)) {
      const counts = { listing: name, pages: followed.size + 1, rows: rows.length };
      log.warn(counts, 'The upstream named a page for the second time: the pages so far are used');
      return { rows, sentAt, ageMs };
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

/** The token of the next page; undefined on the last page. */
function nextTokenOf(json: unknown): string | undefined {
  const { pagination } = json as { readonly pagination?: unknown };
  if (pagination === undefined || pagination === null) return undefined;
  if (typeof pagination !== 'object' || Array.isArray(pagination)) {
    throw malformed(`expected an object "pagination", got ${describeType(pagination)}`);
  }
  const { nextToken } = pagination as { readonly nextToken?: unknown };
  if (nextToken === undefined || nextToken === null || nextToken === '') return undefined;
  if (typeof nextToken !== 'string') {
    throw malformed(`expected a string "pagination.nextToken", got ${describeType(nextToken)}`);
  }
  return nextToken;
}
