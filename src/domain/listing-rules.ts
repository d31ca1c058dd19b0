/** The operator's rules for listings: parses their text, applies them, and writes the rule that decides on a change. */
import { foldAddress, foldChainKey, rowName, tokenKey } from './addresses.js';
import { type Caip19Parts, isIdentifiedBy, parseCaip2, parseCaip19 } from './caip.js';
import { FACT_FORMS, foldValue, GUARDED_FACTS } from './guarded-facts.js';
import type { Chain, GuardedFact } from './listing.js';
import { MAX_SHOWN } from './text-limits.js';

/** A row as a rule names it. Without an address it is a chain. */
export interface NamedRow {
  readonly chainKey: string;
  readonly address?: string | undefined;
}

/** A chain or token that a rule names. Different spellings of one name are already made equal. */
interface Place {
  /** All spellings of one key have the same `id`, and so have all spellings of one CAIP identifier. */
  readonly id: string;
  /** The key of the chain, in lower case. Absent if the rule names the chain by its CAIP-2 identifier. */
  readonly chainKey?: string;
  readonly caip2?: string;
  /** The folded address; undefined for a chain. */
  readonly address?: string | undefined;
  /** Present if a token is named by a CAIP-19 identifier. */
  readonly asset?: Caip19Parts;
}

/** A rule about a guarded fact. `from` is the value that is served now, `value` the value to serve. */
interface FactRule {
  readonly verb: 'accept' | 'keep';
  readonly line: number;
  readonly places: readonly [Place];
  readonly fact: GuardedFact;
  readonly from: string;
  readonly value: string;
}

type Rule =
  | FactRule
  | { readonly verb: 'chains'; readonly places: readonly Place[] }
  | { readonly verb: 'hide'; readonly places: readonly Place[] };

export type ListingRules = readonly Rule[];

/** The longest file of rules, in bytes. */
export const MAX_RULES_LENGTH = 2_097_152;
/** A text with more rules is refused. Services list far fewer tokens. */
export const MAX_RULES = 20_000;

export class ListingRulesError extends Error {}

/** Throws the error of a line: the expected form and the found text, which is the whole line unless given. */
type Refuse = (expected: string, got?: string) => never;

/**
 * Parses the rules of an operator, one rule a line:
 *
 *     chains ethereum base arbitrum          # only these, in this order; further lines add chains
 *     hide gnosis                            # a chain and its tokens
 *     hide base:0x8335…                      # a token
 *     accept ethereum:0xa0b8… decimals 6 18  # the change from 6 to 18 is right
 *     keep ethereum:0xa0b8… decimals 6       # no other value is accepted
 *
 * `#` starts a comment at the beginning of a line and after white space. A word that contains white space
 * must be written as a JSON string.
 *
 * @throws ListingRulesError for the first error: its line, the expected form and the found text
 */
export function parseListingRules(text: string): ListingRules {
  const rules: Rule[] = [];
  /** By fact and row: `accept` rules, then at most one `keep` rule. Later rules are only checked. */
  const aboutOneFact = new Map<string, FactRule[]>();
  let number = 0;
  // Each match is one line with its line break.
  for (const [line] of text.matchAll(/[^\r\n]*(?:\r\n|[\r\n]|$)/g)) {
    number++;
    const refuse: Refuse = (expected, got = line.trim()) => {
      const shown = quoted(got.slice(0, MAX_SHOWN));
      throw new ListingRulesError(`line ${number}: expected ${expected}; got ${shown}`);
    };
    const words = wordsOf(line) ?? refuse('a word that begins with a double quote to be a JSON string');
    if (words.length === 0) continue;
    if (rules.length === MAX_RULES) refuse(`at most ${MAX_RULES} rules`);
    const rule = readRule(words, number, refuse);
    rules.push(rule);
    if (!('fact' in rule)) continue;
    const key = `${rule.fact} ${rule.places[0].id}`;
    const earlier = aboutOneFact.get(key) ?? [];
    const isKept = earlier.at(-1)?.verb === 'keep';
    const opponents = isKept ? earlier.slice(-1) : rule.verb === 'keep' ? earlier : [];
    const other = opponents.find(({ value }) => !isSameValue(rule.fact, value, rule.value));
    if (other) refuse(`a rule that does not contradict line ${other.line}, which has "${other.verb}"`);
    if (!isKept && earlier.push(rule) === 1) aboutOneFact.set(key, earlier);
  }
  return rules;
}

const PLACE = 'chain (key or CAIP-2) or token (chain:address or CAIP-19)';

function readRule([verb, ...words]: readonly string[], line: number, refuse: Refuse): Rule {
  const [word = '', named = '', ...values] = words;
  if (verb === 'chains') {
    const expected = 'keys or CAIP-2 identifiers of chains after "chains"';
    if (words.length === 0) refuse(expected);
    const places = words.map((each) => {
      const place = placeOf(each);
      return place && place.address === undefined ? place : refuse(expected, each);
    });
    return { verb, places };
  }
  const place = placeOf(word);
  if (verb === 'hide') {
    if (!place || words.length > 1) return refuse(`one ${PLACE} after "hide"`);
    return { verb, places: [place] };
  }
  if (verb !== 'accept' && verb !== 'keep')
    return refuse('a rule that begins with chains, hide, accept or keep');
  if (!place) return refuse(`a ${PLACE} after "${verb}"`);
  const row = place.address === undefined ? 'chain' : 'token';
  const facts = GUARDED_FACTS[`${row}s`];
  const fact = facts.find((each) => each === named);
  if (!fact) return refuse(`a fact of this ${row}: ${facts.join(', ')}`, named);
  const [from = '', value = from] = values;
  if (verb === 'accept' && (values.length !== 2 || isSameValue(fact, from, value)))
    refuse('two different values after "accept": the one that is served and the new one');
  if (verb === 'keep' && values.length !== 1) refuse('one value after "keep"');
  const { isValue, expected } = FACT_FORMS[fact];
  const wrong = values.find((each) => !isValue(each));
  if (wrong !== undefined) refuse(`${expected} as the value of ${fact}`, wrong);
  if (fact === 'address' && foldValue(fact, from) !== place.address)
    refuse("the token's own address as the first value of address", from);
  return { verb, line, places: [place], fact, from, value };
}

/** Matches a CAIP-2 identifier, alone or before an address (`eip155:1:0xa0b8…`) or asset (`eip155:1/erc20:0xa0b8…`). */
const CAIP = /^([^:/]+:[^:/]+)(?:([:/])(.*))?$/s;

/**
 * Parses `ethereum`, `ethereum:0xa0b8…`, `eip155:1`, `eip155:1:0xa0b8…` or `eip155:1/erc20:0xa0b8…`; undefined if a part
 * is missing. A text that can be a CAIP identifier is read as one: `eip155:100` is a chain, and not a token. An address can
 * contain colons.
 */
function placeOf(text: string): Place | undefined {
  const [, chainPart = '', separator, rest = ''] = CAIP.exec(text) ?? [];
  const caip2 = parseCaip2(chainPart);
  if (caip2 === undefined) {
    const colon = text.indexOf(':');
    const chainKey = foldChainKey(colon < 0 ? text : text.slice(0, colon));
    const address = colon < 0 ? undefined : foldAddress(text.slice(colon + 1));
    if (chainKey === '' || address === '') return undefined;
    return { id: rowKey({ chainKey, address }), chainKey, address };
  }
  if (separator === undefined) return { id: caip2, caip2 };
  if (rest === '') return undefined;
  if (separator === ':') return { id: `${caip2}:${foldAddress(rest)}`, caip2, address: foldAddress(rest) };
  const asset = parseCaip19(`${caip2}/${rest}`);
  if (!asset?.assetNamespace || !asset.address) return undefined;
  const address = foldAddress(asset.address);
  return { id: `${caip2}/${asset.assetNamespace}:${address}`, caip2, address, asset };
}

/** The row at a place. Undefined if no chain has the identifier, or if the chain cannot have such an asset. */
function rowAt(
  { chainKey, caip2 = '', address, asset }: Place,
  byCaip2: ReadonlyMap<string | null, Chain>,
): NamedRow | undefined {
  if (chainKey !== undefined) return { chainKey, address };
  const chain = byCaip2.get(caip2);
  if (!chain || (asset && !isIdentifiedBy(asset, chain, asset))) return undefined;
  return { chainKey: chain.chainKey, address };
}

/** The key of a row: {@link tokenKey}, or the key of a chain. */
function rowKey({ chainKey, address }: NamedRow): string {
  return address === undefined ? foldChainKey(chainKey) : tokenKey(chainKey, address);
}

function isSameValue(fact: GuardedFact, one: string, other: string): boolean {
  return foldValue(fact, one) === foldValue(fact, other);
}

export type ResolvedRules = ReturnType<typeof resolveRules>;

/**
 * Finds the rows that the rules name. If several `chains` have the same CAIP-2 identifier, it means the last one.
 *
 * @param isFinal false if there is no chain listing yet, so that the rules will be resolved again
 */
export function resolveRules(rules: ListingRules, chains: readonly Chain[], isFinal = true) {
  const byCaip2 = new Map(chains.map((chain) => [chain.caip2, chain]));
  const places = rules.flatMap((rule): readonly Place[] => rule.places);
  /** The place of each chain in the operator's order; undefined if the upstream's order holds. */
  let ranks: Map<string, number> | undefined;
  const hidden = new Set<string>();
  const accepted = new Set<string>();
  const kept = new Map<string, Map<GuardedFact, string>>();
  const named: string[] = [];
  for (const rule of rules) {
    if (rule.verb === 'chains') ranks ??= new Map();
    for (const place of rule.places) {
      const row = rowAt(place, byCaip2);
      const key = row ? rowKey(row) : '';
      named.push(key);
      if (!row) continue;
      if (rule.verb === 'hide') hidden.add(key);
      else if (rule.verb === 'accept') accepted.add(changeKey(key, rule.fact, rule.from, rule.value));
      // Two rules can name one row, by its key and by CAIP: its first position and its first `keep` value are used.
      else if (rule.verb === 'chains') ranks?.set(key, ranks.get(key) ?? ranks.size);
      else kept.set(key, new Map([[rule.fact, rule.value], ...(kept.get(key) ?? [])]));
    }
  }

  /** Whether the operator hides a chain, a token, or the chain of a token. */
  function hides(row: NamedRow): boolean {
    const chain = foldChainKey(row.chainKey);
    return hidden.has(chain) || ranks?.has(chain) === false || (hidden.size > 0 && hidden.has(rowKey(row)));
  }

  return {
    /** The rules as they were parsed. */
    given: rules,
    /** The keys of the rows that the rules name, as a text: it differs if a rule now names another row. */
    rows: JSON.stringify(named),
    /** Whether a rule names a chain that only the first chain listing can identify. */
    isPartial: !isFinal && places.some(({ caip2 }) => caip2 !== undefined && !byCaip2.has(caip2)),
    /** The chains and tokens in the rules whose keys are not in `known`, as the rules spell them. */
    unknown(known: ReadonlySet<string>): readonly string[] {
      const names = places.filter((_, nth) => !known.has(named[nth] ?? '')).map(({ id }) => rowName(id));
      return [...new Set(names)];
    },
    /** The rows to serve, in the operator's order of chains if there is one. Returns `rows` itself if nothing changes. */
    select<Row extends NamedRow>(rows: readonly Row[]): readonly Row[] {
      const selected = rows.filter((row) => !hides(row));
      const rankOf = ({ chainKey }: Row) => ranks?.get(chainKey) ?? 0;
      if (ranks) selected.sort((one, other) => rankOf(one) - rankOf(other));
      const isSame = selected.length === rows.length && selected.every((row, at) => row === rows[at]);
      return isSame ? rows : Object.freeze(selected);
    },
    hides,
    /**
     * The operator's decision on a change of a guarded fact: `accept` it now, or `keep` the old value while the rule
     * exists. Undefined if no rule decides. `key` is the `tokenKey` of a token, or the key of a chain in lower case.
     */
    verdictOn(key: string, fact: GuardedFact, served: string, upstream: string) {
      const value = kept.get(key)?.get(fact);
      if (value !== undefined) return isSameValue(fact, value, upstream) ? 'accept' : 'keep';
      return accepted.has(changeKey(key, fact, served, upstream)) ? 'accept' : undefined;
    },
    /** The values of `keep` rules for a row, by fact, as the rules spell them; undefined if there are none. */
    keptFacts: (key: string): ReadonlyMap<GuardedFact, string> | undefined => kept.get(key),
  };
}

function changeKey(row: string, fact: GuardedFact, from: string, to: string): string {
  return JSON.stringify([row, fact, foldValue(fact, from), foldValue(fact, to)]);
}

/**
 * The rule that accepts a change or keeps the served value, for a message from which the operator can copy it. It is
 * parsed again, because the upstream's texts in it must not change its meaning. Undefined if no rule can express it, such
 * as for a chain key that looks like a CAIP identifier.
 */
export function ruleToPaste(
  verb: FactRule['verb'],
  row: NamedRow,
  fact: GuardedFact,
  served: string,
  upstream: string,
): string | undefined {
  const place = row.address === undefined ? row.chainKey : `${row.chainKey}:${row.address}`;
  const words = [verb, place, fact, served, ...(verb === 'accept' ? [upstream] : [])];
  const rule = words.map((word) => (BARE.test(word) ? word : quoted(word))).join(' ');
  try {
    const { verdictOn, keptFacts } = resolveRules(parseListingRules(rule), []);
    const isKept = keptFacts(rowKey(row))?.get(fact) === served;
    const isAccepted = verdictOn(rowKey(row), fact, served, upstream) === 'accept';
    return (verb === 'accept' ? isAccepted : isKept) ? rule : undefined;
  } catch (error) {
    if (error instanceof ListingRulesError) return undefined;
    throw error;
  }
}

/** Matches the next part of a line: its end, a comment, a JSON string, or a word without quotes. */
const WORD = /\s*(?:(?<end>$|#)|(?<quoted>"[^"\\]*(?:\\.[^"\\]*)*")(?=\s|$)|(?<bare>[^\s"]\S*))/y;

/** A word that needs no quotes: printable ASCII that does not begin with `"` or `#`. */
const BARE = /^[!$-~][!-~]*$/;

/** The words of a line; undefined if a word begins with a double quote but is not a JSON string. */
function wordsOf(line: string): readonly string[] | undefined {
  const words: string[] = [];
  WORD.lastIndex = 0;
  for (;;) {
    const { end, quoted = '', bare } = WORD.exec(line)?.groups ?? {};
    if (end !== undefined) return words;
    try {
      words.push(bare ?? (JSON.parse(quoted) as string));
    } catch {
      return undefined;
    }
  }
}

/** The text as a JSON string in ASCII, so that look-alike and invisible characters become visible. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
