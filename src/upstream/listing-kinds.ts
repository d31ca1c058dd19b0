/** The kinds of listings: the form of their rows, how to parse them, and how to compare them. */
import * as v from 'valibot';
import { foldChainKey, tokenKey } from '../domain/addresses.js';
import {
  CHAIN_FACTS,
  contradictedFacts,
  type FactOf,
  factsKey,
  NATIVE_CURRENCY,
  TOKEN_FACTS,
} from '../domain/guarded-facts.js';
import type {
  Chain,
  Fetched,
  GuardedFact,
  HeldBackFact,
  ListingRows,
  Price,
  SourceAndAge,
  Token,
} from '../domain/listing.js';
import { INVISIBLE, lookalikeKey } from '../domain/lookalikes.js';
import { chainFrom, tokenFrom } from '../domain/rows.js';
import { MAX_LENGTHS } from '../domain/text-limits.js';
import { malformed } from '../domain/upstream-error.js';
import { forEachInSteps } from '../scheduling/steps.js';

/** A higher price counts as an error of the upstream: the token is then served without a price. */
const MAX_PRICE_USD = 1e9;
/** Further rejected rows are only counted. */
const SHOWN_REJECTED_ROWS = 20;
/** The guard gets at most this many contradictory rows of a key. */
const MAX_CONTRADICTORY = 10;

/** A bounded text. If a text is too long, valibot's message does not contain the text, so the log stays small. */
const text = (longest: number) => v.pipe(v.string(), v.maxLength(longest));
const identifier = (longest: number) =>
  v.pipe(
    text(longest),
    v.nonEmpty(),
    v.check((id) => id.search(INVISIBLE) < 0, 'Expected no white space and no invisible characters'),
  );
/** A text can be longer in lower case (`İ`). The longer text is checked, too, because stored rows are checked again. */
const inLowerCase = (longest: number) => v.pipe(v.string(), v.toLowerCase(), v.maxLength(longest));
const chainKey = v.pipe(identifier(MAX_LENGTHS.chainKey), inLowerCase(MAX_LENGTHS.chainKey));
const address = identifier(MAX_LENGTHS.address);
const symbol = text(MAX_LENGTHS.symbol);
const name = text(MAX_LENGTHS.name);
const decimals = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255));

const CHAIN_ID = 'Expected a whole number of at most 2^53 - 1, because larger ones lose digits';

const chainRow = v.object({
  chainKey,
  chainType: v.pipe(text(MAX_LENGTHS.chainType), inLowerCase(MAX_LENGTHS.chainType)),
  // A wrong chain id sends funds to the wrong chain. It can be negative: TON's is -239.
  chainId: v.pipe(v.number(), v.safeInteger(CHAIN_ID)),
  shortName: name,
  name,
  nativeCurrency: v.object({ chainKey, name, symbol, decimals, address }),
});

/** A field that is added later must be optional, or have a fallback: stored listings of older gateways lack it. */
const tokenEntries = {
  chainKey,
  address,
  decimals,
  symbol: v.optional(symbol, ''),
  name: v.optional(name, ''),
  price: v.fallback(
    v.nullable(v.object({ usd: v.pipe(v.number(), v.gtValue(0), v.maxValue(MAX_PRICE_USD)) })),
    null,
  ),
  logoUrl: v.fallback(v.pipe(v.unknown(), v.transform(safeUrlOf)), null),
};

type TokenForm = v.GenericSchema<
  unknown,
  Omit<Token, 'price' | 'heldBack'> & { readonly price: Pick<Price, 'usd'> | null }
>;

/** Not required by the specifications: a token counts as bridgeable only if the upstream says so. */
const bridgeable = v.optional(v.boolean(), false);

const v1Token: TokenForm = v.object({ isBridgeable: bridgeable, ...tokenEntries });

export const valueTransferToken: TokenForm = v.pipe(
  v.object({ isSupported: bridgeable, ...tokenEntries }),
  // The members have the same order as in v1, so that equal rows of both services have equal digests.
  v.transform(({ isSupported, ...row }) => ({ isBridgeable: isSupported, ...row })),
);

/** How to read and compare the rows of a listing, whatever its service. */
export interface ListingKind<Row> {
  readonly name: keyof ListingRows;
  /** It reads only `chainKey` and `address`. */
  readonly keyOf: (row: Row) => string;
  /** The facts that do not change by themselves, unlike prices and names. */
  readonly guarded: readonly FactOf<Row>[];
  /** Parses rows of this form; by default, that of v1 and of stored rows. May reject with UPSTREAM_MALFORMED. */
  readonly parse: (
    rows: readonly unknown[],
    sourceAndAge: SourceAndAge,
    form?: v.GenericSchema | undefined,
  ) => Promise<Fetched<Row>>;
  /**
   * The content of the row as text: equal for rows that differ only in their prices. Null members are left out, so that a
   * field that a later version adds does not change rows without a value: clients would get all rows as changed.
   */
  readonly contentOf: (row: Row) => string;
  /** @param value has the form in which it is shown */
  readonly withFact: (row: Row, fact: GuardedFact, value: string) => Row;
  /** The row without its price, marked with the facts that are held back. */
  readonly markHeldBack: (row: Row, facts: readonly HeldBackFact[]) => Row;
  /** Absent for kinds of rows without prices. */
  readonly priceOf?: (row: Row) => number | undefined;
  /** @param usd null removes the price */
  readonly withPrice: (row: Row, usd: number | null, asOf: number) => Row;
  /** A text that is equal for rows that a person could confuse; undefined for a row without that risk. */
  readonly lookalikeOf: (row: Row) => string | undefined;
  /**
   * The lookalike of a token, or the CAIP-2 identifier of a chain. After a row has lost it, it stays reserved, so that no
   * other row takes it at once. Undefined for a row without it.
   */
  readonly claimOf: (row: Row) => string | undefined;
}

const withoutNull = (_member: string, value: unknown) => value ?? undefined;

export const CHAINS: ListingKind<Chain> = {
  name: 'chains',
  parse: (rows, sourceAndAge, form = chainRow) =>
    parseRows(CHAINS, form as typeof chainRow, chainFrom, rows, sourceAndAge),
  // The key of a parsed row is already in lower case. The key of a row that cannot be read may have upper case.
  keyOf: ({ chainKey }) => foldChainKey(chainKey),
  contentOf: (chain) => JSON.stringify(chain, withoutNull),
  guarded: CHAIN_FACTS,
  withFact(chain, fact, value) {
    if (fact === 'chainId') return { ...chain, chainId: Number(value) };
    if (fact === 'chainType') return { ...chain, chainType: value.toLowerCase() };
    const withCurrency = (changed: Partial<Chain['nativeCurrency']>) => ({
      ...chain,
      nativeCurrency: { ...chain.nativeCurrency, ...changed },
    });
    if (fact === 'decimals') return withCurrency({ decimals: Number(value) });
    const [, symbol, decimals, address] = NATIVE_CURRENCY.exec(value) ?? [];
    if (symbol === undefined || address === undefined) return chain;
    return withCurrency({ symbol, decimals: Number(decimals), address });
  },
  markHeldBack(chain, heldBack) {
    Object.freeze(chain.nativeCurrency);
    return Object.freeze({ ...chain, heldBack: Object.freeze(heldBack) });
  },
  withPrice: (chain) => chain,
  lookalikeOf: () => undefined,
  claimOf: ({ caip2 }) => caip2 ?? undefined,
};

export const TOKENS: ListingKind<Token> = {
  name: 'tokens',
  /** `takenAt` becomes the `asOf` of prices. */
  parse(rows, sourceAndAge, form = v1Token) {
    const rowFrom = (row: v.InferOutput<TokenForm>) =>
      tokenFrom(row, row.price && { usd: row.price.usd, asOf: sourceAndAge.takenAt });
    return parseRows(TOKENS, form as TokenForm, rowFrom, rows, sourceAndAge);
  },
  keyOf: ({ chainKey, address }) => tokenKey(chainKey, address),
  contentOf: ({ price, ...rest }) => JSON.stringify(rest, withoutNull),
  guarded: TOKEN_FACTS,
  withFact(token, fact, value) {
    if (fact === 'decimals') return { ...token, decimals: Number(value) };
    return fact === 'symbol' ? { ...token, symbol: value } : token;
  },
  markHeldBack: (token, heldBack) => tokenFrom(token, null, heldBack),
  priceOf: ({ price }) => price?.usd,
  withPrice: (token, usd, asOf) => tokenFrom(token, usd === null ? null : { usd, asOf }, token.heldBack),
  // "USDC" and "usdc" look the same to a person in a hurry.
  lookalikeOf({ chainKey, symbol }) {
    const look = lookalikeKey(symbol);
    return look === '' ? undefined : JSON.stringify([chainKey, look]);
  },
  claimOf: (token) => TOKENS.lookalikeOf(token),
};

export type StoredKind<Row> = Pick<ListingKind<Row>, 'parse'> & { readonly name: string };

export const ROUTES: StoredKind<Token> = { name: 'routes', parse: TOKENS.parse };

export const LISTING_KINDS: { readonly [Name in keyof ListingRows]: ListingKind<ListingRows[Name]> } = {
  chains: CHAINS,
  tokens: TOKENS,
};

/** Rejects with UPSTREAM_MALFORMED if all rows are bad. @param rowFrom makes the row to serve from a checked row */
async function parseRows<Checked extends object, Row>(
  { name, keyOf, guarded }: ListingKind<Row>,
  form: v.GenericSchema<unknown, Checked>,
  rowFrom: (checked: Checked) => Row,
  unknownRows: readonly unknown[],
  sourceAndAge: SourceAndAge,
): Promise<Fetched<Row>> {
  type Parsed = { readonly index: number; readonly row: Row };
  const parsed = new Map<string, [Parsed, ...Parsed[]]>();
  const unreadable = { count: 0, keys: new Set<string>(), unnamed: 0 };
  const rejected: { readonly index: number; readonly reason: () => string }[] = [];
  await forEachInSteps(unknownRows, (unknownRow, index) => {
    const { success, output, issues } = v.safeParse(form, unknownRow, { abortEarly: true });
    if (success) {
      const row = rowFrom(output);
      const same = parsed.get(keyOf(row));
      if (same) same.push({ index, row });
      else parsed.set(keyOf(row), [{ index, row }]);
      return;
    }
    unreadable.count++;
    const identity = identityOf(unknownRow, name !== CHAINS.name);
    if (identity) unreadable.keys.add(keyOf(identity as Row));
    else unreadable.unnamed++;
    rejected.push({ index, reason: () => reasonOf(issues[0]) });
  });
  const rows: Row[] = [];
  const contradictory = new Map<string, readonly Row[]>();
  // Sorted, because the order of contradictory rows in an answer has no meaning.
  const byFacts = (one: Row, other: Row) => (factsKey(guarded, one) < factsKey(guarded, other) ? -1 : 1);
  for (const [key, [first, ...others]] of parsed) {
    const variants = [first.row];
    const reject = (index: number, row: Row, otherIndex: number) => {
      const reason = () => {
        const facts = contradictedFacts(guarded, first.row, row);
        if (facts.length === 0) return `duplicate of ${name}[${otherIndex}]`;
        const values = facts.map(({ fact, of }) => `${fact} ${of(first.row)} and ${of(row)}`);
        return shortened(`contradicts ${name}[${otherIndex}]: ${values.join(', ')}`);
      };
      rejected.push({ index, reason });
    };
    for (const { index, row } of others) {
      reject(index, row, first.index);
      const isNew = variants.every((each) => contradictedFacts(guarded, each, row).length > 0);
      // The gateway cannot know which of several variants is right: none becomes a row, and the guard decides.
      if (isNew && variants.length === 1) reject(first.index, row, index);
      if (isNew && variants.length < MAX_CONTRADICTORY) variants.push(row);
    }
    if (variants.length === 1) rows.push(first.row);
    else contradictory.set(key, variants.sort(byFacts));
  }
  rejected.sort((one, other) => one.index - other.index);
  const shown = rejected.slice(0, SHOWN_REJECTED_ROWS);
  const first = shown.map(({ index, reason }) => `${name}[${index}]: ${reason()}`);
  if (rows.length === 0 && rejected.length > 0)
    throw malformed(`none of the ${rejected.length} rows in "${name}" has the specified form`, first[0]);
  const count = rejected.length;
  return {
    ...sourceAndAge,
    rows: Object.freeze(rows),
    rejected: { count, first },
    unreadable,
    contradictory,
    order: [...parsed.keys()],
  };
}

/** The identity of a row without the specified form; undefined if even its key cannot be read. */
function identityOf(row: unknown, hasAddress: boolean) {
  if (typeof row !== 'object' || row === null) return undefined;
  const { chainKey, address = hasAddress ? undefined : '' } = row as Partial<Record<string, unknown>>;
  if (typeof chainKey !== 'string' || typeof address !== 'string') return undefined;
  if (chainKey.length > MAX_LENGTHS.chainKey || address.length > MAX_LENGTHS.address) return undefined;
  return { chainKey: chainKey.replace(INVISIBLE, ''), address: address.replace(INVISIBLE, '') };
}

function reasonOf(issue: v.BaseIssue<unknown> | undefined): string {
  const path = issue && v.getDotPath(issue);
  return `${path ? `${path}: ` : ''}${shortened(issue?.message ?? 'not a row')}`;
}

/** The beginning of a text. A copy, because a slice would keep the whole text in memory, perhaps megabytes. */
export function shortened(text: string, maxLength = 200): string {
  return text.length <= maxLength ? text : Buffer.from(text.slice(0, maxLength)).toString();
}

/** The longest URL, in UTF-16 code units: a common limit. */
const MAX_URL = 2048;
/** Characters that end an attribute, a tag or an address in a style sheet, and invisible ones. */
const MARKUP = /[\s<>"'`\\^{|}\p{Cc}\p{Cf}]/u;
/** A host name with a dot. IP addresses are refused: no public site needs one, and many lead into local networks. */
const HOST_NAME = /\.[a-z][a-z0-9-]*$/;
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|lan|home|home\.arpa)$/;

/** The URL if pages can load it safely, such as that of a picture; otherwise null. */
function safeUrlOf(sent: unknown): string | null {
  if (typeof sent !== 'string' || sent.length > MAX_URL || MARKUP.test(sent)) return null;
  if (!URL.canParse(sent)) return null;
  const { protocol, username, password, hostname, href } = new URL(sent);
  if (protocol !== 'https:' && protocol !== 'http:') return null;
  if (username !== '' || password !== '' || !isPublic(hostname)) return null;
  return href.length <= MAX_URL && !MARKUP.test(href) ? href : null;
}

function isPublic(hostname: string): boolean {
  const host = hostname.replace(/\.$/, '');
  return HOST_NAME.test(host) && !LOCAL_NAME.test(host);
}
