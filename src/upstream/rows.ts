import * as v from 'valibot';
import { foldChainKey, tokenKey } from '../domain/addresses.js';
import { caip2Of } from '../domain/caip.js';
import { CHAIN_FACTS, contradictedFacts, type FactOf, TOKEN_FACTS } from '../domain/guarded-facts.js';
import { cacheKeyedRows } from '../domain/keyed-rows.js';
import type { Chain, Fetched, Origin, Price, Token } from '../domain/listing.js';
import { MAX_ROWS, NOTHING_HELD_BACK } from '../domain/listing.js';
import { MAX_LENGTHS } from '../domain/text-limits.js';
import { malformed, type UpstreamError } from '../domain/upstream-error.js';
import { forEachChunk } from '../scheduling/chunks.js';
import { logoUrlOf } from './logo-url.js';

/** How many rejected rows are reported with index and reason; the others are only counted. */
const SHOWN_REJECTED_ROWS = 20;
/** How many contradictory rows are kept for a key. */
const MAX_VERSIONS = 10;

/** White space, and characters that nobody sees: with one, a text that looks like another is not equal to it. */
const UNSEEN = /[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const ALL_UNSEEN = new RegExp(UNSEEN, 'gu');

/** A higher price is a fault of the feed: no token has ever cost a billion dollars. */
const MAX_PRICE_USD = 1e9;

/** The message about a text that is too long does not contain it. */
const text = (longest: number) => v.pipe(v.string(), v.maxLength(longest));
const identifier = (longest: number) =>
  v.pipe(
    text(longest),
    v.nonEmpty(),
    v.check((id) => !UNSEEN.test(id), 'Expected no white space and no invisible characters'),
  );
const chainKey = v.pipe(identifier(MAX_LENGTHS.chainKey), v.transform(foldChainKey));
const address = identifier(MAX_LENGTHS.address);
const symbol = text(MAX_LENGTHS.symbol);
const name = text(MAX_LENGTHS.name);
const decimals = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255));

const chainRow = v.object({
  chainKey,
  chainType: v.pipe(text(MAX_LENGTHS.chainType), v.toLowerCase()),
  // Beyond 2^53 a JSON number has lost digits, and a wrong chain id sends funds to the wrong chain.
  // It can be negative: TON's is -239.
  chainId: v.pipe(v.number(), v.safeInteger()),
  shortName: name,
  name,
  nativeCurrency: v.object({ chainKey, name, symbol, decimals, address }),
});

const tokenEntries = {
  chainKey,
  address,
  decimals,
  // The specifications require neither of these two.
  symbol: v.optional(symbol, ''),
  name: v.optional(name, ''),
  // A row with an invalid price is served without a price.
  price: v.fallback(
    v.nullable(v.object({ usd: v.pipe(v.number(), v.gtValue(0), v.maxValue(MAX_PRICE_USD)) })),
    null,
  ),
  // A row with an unsafe picture is served without a picture.
  logoUrl: v.fallback(v.pipe(v.unknown(), v.transform(logoUrlOf)), null),
};

/** Reads a token in the form of one service. All services give rows of the same form. */
export type TokenForm = v.GenericSchema<
  unknown,
  Omit<Token, 'price' | 'heldBack'> & { readonly price: Pick<Price, 'usd'> | null }
>;

/** Not required, either: a token is taken for bridgeable only if the upstream says so. */
const bridgeable = v.optional(v.boolean(), false);

/** The form of v1. */
const v1Token: TokenForm = v.object({ isBridgeable: bridgeable, ...tokenEntries });

/** The form of the value-transfer service. */
export const valueTransferToken: TokenForm = v.pipe(
  v.object({ isSupported: bridgeable, ...tokenEntries }),
  // With the members in v1's order: equal rows of both services must have equal digests.
  v.transform(({ isSupported, ...row }) => ({ isBridgeable: isSupported, ...row })),
);

/**
 * Reads the chain listing.
 *
 * @param unknownRows rows of any form
 * @throws UpstreamError UPSTREAM_MALFORMED by rejection, if no row is valid, or there are more than {@link MAX_ROWS}
 */
export async function parseChains(unknownRows: readonly unknown[], origin: Origin): Promise<Fetched<Chain>> {
  const parsed = await parseRows(
    'chains',
    unknownRows,
    chainRow,
    ({ chainKey }) => foldChainKey(chainKey),
    CHAIN_FACTS,
    (chain) => {
      Object.freeze(chain.nativeCurrency);
      return Object.freeze({ ...chain, caip2: caip2Of(chain), heldBack: NOTHING_HELD_BACK });
    },
  );
  if (parsed.rows.length === 0) throw noRows('chains', parsed);
  return { ...parsed, ...origin };
}

/**
 * Reads tokens: the whole listing, or the routes from one token.
 *
 * @param unknownRows rows of any form
 * @param origin its `takenAt` becomes the `asOf` of every price
 * @param mayBeEmpty true for routes; a listing without tokens is an error
 * @throws UpstreamError UPSTREAM_MALFORMED by rejection, if there are rows and none is valid, or more than
 *   {@link MAX_ROWS}
 */
export async function parseTokens(
  unknownRows: readonly unknown[],
  origin: Origin,
  mayBeEmpty: boolean,
  form: TokenForm = v1Token,
): Promise<Fetched<Token>> {
  const parsed = await parseRows(
    'tokens',
    unknownRows,
    form,
    ({ chainKey, address }) => tokenKey(chainKey, address),
    TOKEN_FACTS,
    // A literal with every member: by spreading, V8 would give each token a hidden class of its own.
    (row): Token =>
      Object.freeze({
        isBridgeable: row.isBridgeable,
        chainKey: row.chainKey,
        address: row.address,
        decimals: row.decimals,
        symbol: row.symbol,
        name: row.name,
        logoUrl: row.logoUrl,
        price: row.price && Object.freeze({ usd: row.price.usd, asOf: origin.takenAt }),
        heldBack: NOTHING_HELD_BACK,
      }),
  );
  if (parsed.rows.length === 0 && !(mayBeEmpty && parsed.rejected.count === 0))
    throw noRows('tokens', parsed);
  return { ...parsed, ...origin };
}

interface Identity {
  readonly chainKey: string;
  readonly address: string;
}

type ParsedRows<Row> = Required<Pick<Fetched<Row>, 'rows' | 'rejected' | 'unreadable' | 'contradictory'>>;

async function parseRows<Schema extends v.GenericSchema<unknown, object>, Row>(
  name: 'chains' | 'tokens',
  unknownRows: readonly unknown[],
  schema: Schema,
  keyOf: (row: v.InferOutput<Schema> | Identity) => string,
  facts: readonly FactOf<Row>[],
  finish: (row: v.InferOutput<Schema>) => Row,
): Promise<ParsedRows<Row>> {
  if (unknownRows.length > MAX_ROWS) throw tooManyRows(name, unknownRows.length);
  const keyed = new Map<string, Row>();
  const first: string[] = [];
  let count = 0;
  const reject = (index: number, reason: () => string) => {
    if (count++ < SHOWN_REJECTED_ROWS) first.push(`${name}[${index}]: ${reason()}`);
  };
  const firsts = new Map<string, { readonly index: number; readonly row: Row }>();
  const contradictory = new Map<string, Row[]>();
  const unreadableKeys = new Set<string>();
  let unreadable = 0;
  let unnamed = 0;
  const readRow = (unknownRow: unknown, index: number) => {
    const { success, output, issues } = v.safeParse(schema, unknownRow, { abortEarly: true });
    if (!success) {
      unreadable++;
      const identity = identityOf(unknownRow, name);
      if (identity) unreadableKeys.add(keyOf(identity));
      else unnamed++;
      reject(index, () => reasonOf(issues[0]));
      return;
    }
    const key = keyOf(output);
    const row = finish(output);
    const earlier = firsts.get(key);
    if (!earlier) {
      firsts.set(key, { index, row });
      keyed.set(key, row);
      return;
    }
    const contradicted = contradictedFacts(facts, earlier.row, row);
    if (contradicted.length === 0) {
      reject(index, () => `duplicate of ${name}[${earlier.index}]`);
      return;
    }
    const contradicts = (other: number) => () =>
      shortened(
        `contradicts ${name}[${other}]: ${contradicted.map(({ fact, of }) => `${fact} ${of(earlier.row)} and ${of(row)}`).join(', ')}`,
      );
    // Which of them is right is not known, so that none is served.
    if (keyed.delete(key)) {
      contradictory.set(key, [earlier.row]);
      reject(earlier.index, contradicts(index));
    }
    reject(index, contradicts(earlier.index));
    const versions = contradictory.get(key);
    const isNew = versions?.every((version) => contradictedFacts(facts, version, row).length > 0);
    if (isNew && versions && versions.length < MAX_VERSIONS) versions.push(row);
  };
  await forEachChunk(unknownRows, (chunk, offset) => {
    for (const [index, row] of chunk.entries()) readRow(row, offset + index);
  });
  const rows = Object.freeze([...keyed.values()]);
  cacheKeyedRows(rows, keyed);
  return {
    rows,
    rejected: { count, first },
    unreadable: { count: unreadable, keys: unreadableKeys, unnamed },
    contradictory,
  };
}

/** Identifies a row that cannot be read, by what can be seen of its key; undefined if that is not possible. */
function identityOf(row: unknown, name: 'chains' | 'tokens'): Identity | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const { chainKey, address = name === 'chains' ? '' : undefined } = row as Partial<Record<string, unknown>>;
  if (typeof chainKey !== 'string' || typeof address !== 'string') return undefined;
  const isBounded = chainKey.length <= MAX_LENGTHS.chainKey && address.length <= MAX_LENGTHS.address;
  if (!isBounded) return undefined;
  return { chainKey: chainKey.replace(ALL_UNSEEN, ''), address: address.replace(ALL_UNSEEN, '') };
}

/**
 * The unchecked rows of an answer.
 *
 * @throws UpstreamError UPSTREAM_MALFORMED if it is not `{ [name]: [...] }`
 */
export function rowsOf(name: string, json: unknown): readonly unknown[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw malformed(`expected a JSON object with an array "${name}", got ${describeType(json)}`);
  }
  const rows: unknown = Object.hasOwn(json, name) ? (json as Record<string, unknown>)[name] : undefined;
  if (!Array.isArray(rows)) throw malformed(`expected an array "${name}", got ${describeType(rows)}`);
  return rows;
}

/** The error for an answer with more than {@link MAX_ROWS} rows. */
export function tooManyRows(name: string, count: number): UpstreamError {
  return malformed(`expected at most ${MAX_ROWS} rows in "${name}", got ${count}`);
}

function noRows(name: string, { rejected: { count, first } }: ParsedRows<unknown>) {
  if (count === 0) return malformed(`expected at least one row in "${name}", got none`);
  return malformed(`none of the ${count} rows in "${name}" has the specified form`, first[0]);
}

function reasonOf(issue: v.BaseIssue<unknown> | undefined): string {
  const path = issue && v.getDotPath(issue);
  return `${path ? `${path}: ` : ''}${shortened(issue?.message ?? 'not a row')}`;
}

function shortened(message: string): string {
  // Copied: a slice keeps the whole string in memory, which may be megabytes.
  return Buffer.from(message.slice(0, 200)).toString();
}

/** Describes the type of an unexpected value for a message; never the value itself. */
export function describeType(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`;
}
