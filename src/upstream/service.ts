/** REST services that send `{ "chains": […] }` and `{ "tokens": […] }`, whole or in pages. */
import type * as v from 'valibot';
import type { Config } from '../config/config.js';
import {
  type ListingRows,
  MAX_LISTING_ROWS,
  type RouteRequest,
  type Service,
  type ServiceName,
} from '../domain/listing.js';
import { malformed, UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger/logger.js';
import { forEachInSteps } from '../scheduling/steps.js';
import type { UpstreamAnswer, UpstreamHttp, UpstreamRequest } from './http/client.js';
import { LISTING_KINDS, ROUTES, shortened } from './listing-kinds.js';

export interface ServiceOptions extends Pick<Config, 'upstreamMaxBytes'> {
  readonly http: UpstreamHttp;
  readonly source: ServiceName;
  readonly metrics: FieldWatchMetrics;
  readonly log: Logger;
}

export interface ServiceForm {
  /** By listing: the schema of its rows, if it differs from that of v1. */
  readonly forms: Readonly<Partial<Record<keyof ListingRows, v.GenericSchema>>>;
  /** The field of a token that says whether it can be moved. */
  readonly flag: (typeof FLAGS)[number];
  readonly isPaged: boolean;
  /** @throws GatewayError BAD_USER_INPUT for a request that the service does not support */
  readonly routeQuery: (request: RouteRequest) => NonNullable<UpstreamRequest['query']>;
}

/** The names of {@link ServiceForm.flag} in v1 and in its successor. */
const FLAGS = ['isBridgeable', 'isSupported'] as const;
/** An answer with more pages than this is rejected: every page could name a next page. */
const MAX_PAGES = 100;
/** A longer page token is refused: it becomes part of a URL, and servers usually accept URLs of about 8 kB. */
const MAX_TOKEN_LENGTH = 8_192;

export function createRestService(
  { forms, flag, isPaged, routeQuery }: ServiceForm,
  { http, source, upstreamMaxBytes: maxBytes, metrics, log }: ServiceOptions,
): Service {
  const watchFields = createFieldWatch(metrics, log);

  /**
   * Fetches the unchecked rows of all pages, which are in the array with the name of the path. All get the age of the
   * oldest page. If a page cannot be fetched, the whole listing fails: the missing rows would look as if they were removed.
   */
  async function fetchRows(request: UpstreamRequest) {
    const name = request.path;
    const rows: unknown[] = [];
    const followed = new Set<string>();
    let page = await getFirst(http, request);
    let { ageMs, bytes } = page;
    const { sentAt } = page;
    for (;;) {
      const more = rowsOf(name, page.json);
      const count = rows.length + more.length;
      if (count > MAX_LISTING_ROWS)
        throw malformed(`expected at most ${MAX_LISTING_ROWS} rows in "${name}", got ${count}`);
      for (const row of more) rows.push(row);
      const nextToken = nextTokenOf(page.json);
      if (nextToken !== undefined && !isPaged)
        throw malformed(`expected all rows of "${name}" in one answer, got the token of a further page`);
      const isRepeated = nextToken !== undefined && followed.has(nextToken);
      if (isRepeated) {
        const counts = { listing: name, pages: followed.size + 1, rows: rows.length };
        log.warn(counts, 'The upstream named a page for the second time: the pages so far are used');
      }
      if (nextToken === undefined || isRepeated) {
        checkFlag(name, rows);
        return { rows, sourceAndAge: { source, takenAt: sentAt - ageMs, upstreamAgeMs: ageMs } };
      }
      followed.add(nextToken);
      if (followed.size >= MAX_PAGES)
        throw malformed(`expected at most ${MAX_PAGES} pages of "${name}", got the token of a further one`);
      const query = { ...request.query, 'pagination[nextToken]': nextToken };
      page = await http.getJson({ ...request, query });
      ageMs = Math.max(ageMs, page.ageMs - (page.sentAt - sentAt));
      bytes += page.bytes;
      if (bytes > maxBytes)
        throw malformed(`expected at most ${maxBytes} bytes in all pages of "${name}" together, got more`);
    }
  }

  /** Rejects tokens in the form of the other service: without this, all of them would be served as not bridgeable. */
  function checkFlag(name: string, rows: readonly unknown[]): void {
    const other = FLAGS.find(
      (each) => rows.length > 0 && rows.every((row) => has(row, each) && !has(row, flag)),
    );
    const advice = 'check UPSTREAM_PROFILE and the address of the service';
    if (other) throw malformed(`expected "${flag}" in the rows of "${name}", got "${other}": ${advice}`);
  }

  return {
    source,
    async fetch(name) {
      const { rows, sourceAndAge } = await fetchRows({ path: name, lane: 'listings' });
      // Unlike routes, a listing must not be empty.
      if (rows.length === 0) throw malformed(`expected at least one row in "${name}", got none`);
      const fetched = await LISTING_KINDS[name].parse(rows, sourceAndAge, forms[name]);
      await watchFields(name, rows);
      return fetched;
    },
    async routes(asked, clients) {
      const request = { path: 'tokens', query: routeQuery(asked), lane: 'routes', clients } as const;
      const { rows, sourceAndAge } = await fetchRows(request);
      return ROUTES.parse(rows, sourceAndAge, forms.tokens);
    },
    forgetGone: http.forgetGone,
  };
}

/** For routes, HTTP 422 means that the token is unknown, and so has no routes. */
async function getFirst(http: UpstreamHttp, request: UpstreamRequest): Promise<UpstreamAnswer> {
  const sentAt = Date.now();
  try {
    return await http.getJson(request);
  } catch (error) {
    // The code is checked, too, because a service can use any status to say that it is gone.
    const isUnknown =
      error instanceof UpstreamError && error.code === 'UPSTREAM_STATUS' && error.status === 422;
    if (isUnknown && request.lane === 'routes') return { json: { tokens: [] }, bytes: 0, sentAt, ageMs: 0 };
    throw error;
  }
}

function rowsOf(name: string, json: unknown): readonly unknown[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw malformed(`expected a JSON object with an array "${name}", got ${describeType(json)}`);
  const { [name]: rows } = json as Readonly<Record<string, unknown>>;
  if (!Array.isArray(rows)) throw malformed(`expected an array "${name}", got ${describeType(rows)}`);
  return rows;
}

const has = (row: unknown, field: string) => typeof row === 'object' && row !== null && field in row;

function nextTokenOf(json: unknown): string | undefined {
  const { pagination } = json as { readonly pagination?: unknown };
  if (pagination === undefined || pagination === null) return undefined;
  if (typeof pagination !== 'object' || Array.isArray(pagination))
    throw malformed(`expected an object "pagination", got ${describeType(pagination)}`);
  const { nextToken } = pagination as { readonly nextToken?: unknown };
  if (nextToken === undefined || nextToken === null || nextToken === '') return undefined;
  if (typeof nextToken !== 'string')
    throw malformed(`expected a string "pagination.nextToken", got ${describeType(nextToken)}`);
  if (nextToken.length <= MAX_TOKEN_LENGTH) return nextToken;
  const expected = `expected at most ${MAX_TOKEN_LENGTH} characters in "pagination.nextToken"`;
  throw malformed(`${expected}, got ${nextToken.length}`);
}

/** The type of an unexpected value, for a message: the value itself could be long or secret. */
function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}

export interface FieldWatchMetrics {
  /** Counts fields that no row had before (`appeared`), or that all rows had and a row lacks (`missing`). */
  readonly fieldDrift: (listing: string, drift: 'appeared' | 'missing', fields: number) => void;
}

/** At most this many fields of a listing are remembered; rows have about twenty. */
const MAX_FIELDS = 200;
const MAX_SHOWN_FIELDS = 20;
/** Longer names are cut before they are compared and logged. */
const MAX_NAME_LENGTH = 64;

/**
 * Creates the watch for one service. The first answer with rows sets the known fields of a listing. Each field is logged
 * at most once. The fields of objects in a row count, too, one level deep.
 */
function createFieldWatch(metrics: FieldWatchMetrics, log: Logger) {
  /** By listing: each field that a row has had so far, and whether all rows have had it. */
  const known = new Map<string, Map<string, boolean>>();

  return async (listing: string, rows: readonly unknown[]): Promise<void> => {
    const counts = new Map<string, number>();
    await forEachInSteps(rows, (row) => countFields(row, '', counts));
    if (!counts.has('')) return;
    // Compares with the number of objects: a row whose price is null does not lack `price.usd`.
    const isInEach = (name: string) => counts.get(name) === counts.get(name.replace(/[^.]*$/, ''));
    const names = [...counts.keys()].filter((name) => name !== '' && !name.endsWith('.'));
    const before = known.get(listing);
    if (!before) {
      known.set(listing, new Map(names.map((name) => [name, isInEach(name)])));
      return;
    }
    const isNew = (name: string) => !before.has(name);
    const appeared = names.filter(isNew).slice(0, Math.max(0, MAX_FIELDS - before.size));
    const missing = [...before.keys()].filter((name) => before.get(name) && !isInEach(name));
    const changed = [...appeared, ...missing];
    if (changed.length === 0) return;
    for (const name of changed) before.set(name, false);
    metrics.fieldDrift(listing, 'appeared', appeared.length);
    metrics.fieldDrift(listing, 'missing', missing.length);
    const shown = {
      appeared: appeared.slice(0, MAX_SHOWN_FIELDS),
      missing: missing.slice(0, MAX_SHOWN_FIELDS),
    };
    log.warn(
      { listing, fields: changed.length, ...shown },
      `The fields of the upstream's rows in "${listing}" have changed. Check whether the gateway should read the new ones, and whether the missing ones matter`,
    );
  };
}

/** Counts an object under the name `parent` (empty for a row, `price.` for its price), and its fields by name. */
function countFields(value: unknown, parent: string, counts: Map<string, number>): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  counts.set(parent, (counts.get(parent) ?? 0) + 1);
  for (const [field, content] of Object.entries(value)) {
    const name = shortened(parent + field, MAX_NAME_LENGTH);
    const count = counts.get(name) ?? 0;
    if (count === 0 && counts.size >= MAX_FIELDS) continue;
    counts.set(name, count + 1);
    if (parent === '') countFields(content, `${name}.`, counts);
  }
}
