import * as v from 'valibot';
import { tokenKey } from './address.js';
import { malformed } from './errors.js';
import { keepKeyedRows } from './keyed-rows.js';
import type { Chain, Origin, Price, RejectedRows, Taken, Token } from './listing.js';
import { forEachSlice } from './slices.js';

/** So many bad rows are told with their places; the rest are only counted. */
const SHOWN_REJECTED_ROWS = 20;

const nonEmpty = v.pipe(v.string(), v.nonEmpty());
const decimals = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255));

const chainRow = v.object({
  chainKey: nonEmpty,
  chainType: v.pipe(v.string(), v.toLowerCase()),
  // Beyond 2^53 a JSON number has lost digits, and a wrong chain id sends funds to the wrong place.
  // It may be negative: TON's is -239.
  chainId: v.pipe(v.number(), v.safeInteger()),
  shortName: v.string(),
  name: v.string(),
  nativeCurrency: v.object({
    chainKey: nonEmpty,
    name: v.string(),
    symbol: v.string(),
    decimals,
    address: nonEmpty,
  }),
});

const tokenEntries = {
  chainKey: nonEmpty,
  address: nonEmpty,
  decimals,
  symbol: v.string(),
  name: v.string(),
  // A price that is none costs the row nothing: it is served without one.
  price: v.fallback(v.nullable(v.object({ usd: v.pipe(v.number(), v.finite(), v.minValue(0)) })), null),
  // Nor does a picture that a page had better not load.
  logoUrl: v.fallback(v.nullable(v.pipe(v.string(), v.maxLength(2048), v.url(), v.regex(/^https?:/i))), null),
};

/** The form in which a service writes the rows of its token listing; each is read as the same row. */
export type TokenForm = v.GenericSchema<
  unknown,
  Omit<Token, 'price'> & { readonly price: Pick<Price, 'usd'> | null }
>;

/** A token as v1 writes it. */
const v1Token: TokenForm = v.object({ isBridgeable: v.boolean(), ...tokenEntries });

/** A token as the value-transfer service writes it. */
export const valueTransferToken: TokenForm = v.pipe(
  v.object({ isSupported: v.boolean(), ...tokenEntries }),
  // In the order of the other form: equal rows are to have an equal digest, whichever service they are from.
  v.transform(({ isSupported, ...row }) => ({ isBridgeable: isSupported, ...row })),
);

/**
 * Reads the answer to a question for the chain listing.
 *
 * @param json the parsed body, of any form
 * @param origin where it is from, and when it was asked for
 * @throws UpstreamError UPSTREAM_MALFORMED by rejection, if it is not `{ chains: [...] }` with at least one
 *   good row
 */
export async function parseChains(json: unknown, { source, takenAt }: Origin): Promise<Taken<Chain>> {
  const { rows, rejected } = await parseRows(
    'chains',
    json,
    chainRow,
    ({ chainKey }) => chainKey,
    (chain) => {
      Object.freeze(chain.nativeCurrency);
      return Object.freeze(chain);
    },
  );
  if (rows.length === 0) throw noRows('chains', rejected);
  return { rows, rejected, source, takenAt };
}

/**
 * Reads the answer to a question for tokens, the whole listing or the routes from one token.
 *
 * @param json the parsed body, of any form
 * @param origin where it is from, and when it was asked for: every price gets that as its `asOf`
 * @param mayBeEmpty true for routes; a listing without tokens is refused
 * @param form how the service writes a token
 * @throws UpstreamError UPSTREAM_MALFORMED by rejection, if it is not `{ tokens: [...] }`, or has rows and no
 *   good one
 */
export async function parseTokens(
  json: unknown,
  { source, takenAt }: Origin,
  mayBeEmpty: boolean,
  form: TokenForm = v1Token,
): Promise<Taken<Token>> {
  const { rows, rejected } = await parseRows(
    'tokens',
    json,
    form,
    ({ chainKey, address }) => tokenKey(chainKey, address),
    ({ price, ...row }): Token =>
      Object.freeze({ ...row, price: price && Object.freeze({ usd: price.usd, asOf: takenAt }) }),
  );
  if (rows.length === 0 && !(mayBeEmpty && rejected.count === 0)) throw noRows('tokens', rejected);
  return { rows, rejected, source, takenAt };
}

async function parseRows<Schema extends v.GenericSchema, Row>(
  name: 'chains' | 'tokens',
  json: unknown,
  schema: Schema,
  keyOf: (row: v.InferOutput<Schema>) => string,
  finish: (row: v.InferOutput<Schema>) => Row,
): Promise<{ rows: readonly Row[]; rejected: RejectedRows }> {
  const keyed = new Map<string, Row>();
  const first: string[] = [];
  let count = 0;
  const reject = (place: string, reason: string) => {
    if (count++ < SHOWN_REJECTED_ROWS) first.push(`${place}: ${reason}`);
  };
  const firstPlaces = new Map<string, string>();
  const read = (unknownRow: unknown, index: number) => {
    const place = `${name}[${index}]`;
    const { success, output, issues } = v.safeParse(schema, unknownRow, { abortEarly: true });
    if (!success) {
      reject(place, reasonOf(issues[0]));
      return;
    }
    const key = keyOf(output);
    const firstPlace = firstPlaces.get(key);
    if (firstPlace !== undefined) {
      reject(place, `duplicate of ${firstPlace}`);
      return;
    }
    firstPlaces.set(key, place);
    keyed.set(key, finish(output));
  };
  await forEachSlice(rowsOf(name, json), (slice, offset) => {
    for (const [index, row] of slice.entries()) read(row, offset + index);
  });
  const rows = Object.freeze([...keyed.values()]);
  keepKeyedRows(rows, keyed);
  return { rows, rejected: { count, first } };
}

/**
 * The rows of an answer, of any form each.
 *
 * @throws UpstreamError UPSTREAM_MALFORMED if it is not `{ [name]: [...] }`
 */
export function rowsOf(name: string, json: unknown): readonly unknown[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw malformed(`expected a JSON object with an array "${name}", got ${kindOf(json)}`);
  }
  const rows: unknown = Object.hasOwn(json, name) ? (json as Record<string, unknown>)[name] : undefined;
  if (!Array.isArray(rows)) throw malformed(`expected an array "${name}", got ${kindOf(rows)}`);
  return rows;
}

function noRows(name: string, { count, first }: RejectedRows) {
  if (count === 0) return malformed(`expected at least one row in "${name}", got none`);
  return malformed(`none of the ${count} rows in "${name}" has the specified form`, first[0]);
}

function reasonOf(issue: v.BaseIssue<unknown> | undefined): string {
  const path = issue && v.getDotPath(issue);
  return `${path ? `${path}: ` : ''}${(issue?.message ?? 'not a row').slice(0, 200)}`;
}

/** What a value is, for saying that something else was expected; never the value itself. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}
