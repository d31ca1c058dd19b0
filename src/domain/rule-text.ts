import { foldAddress, foldChainKey, tokenKey } from './addresses.js';
import { parseCaip2, parseCaip19 } from './caip.js';
import { factsOf, foldValue, formOf, isGuardedFact } from './guarded-facts.js';
import type { Chain, GuardedFact, Token } from './listing.js';
import {
  addressOf,
  createListingRules,
  type FactRule,
  type ListingRules,
  type Place,
  placeKey,
  type ResolvedRules,
} from './listing-rules.js';

/*
 * The text of an operator's rules: how it is read, and how the rules are written that decide on a change.
 */

/** The maximum length of the text of rules, in UTF-16 code units and in bytes of its file. */
export const MAX_RULES_LENGTH = 1_048_576;
/** The maximum number of rules. */
export const MAX_RULES = 20_000;

/** How much of a line or word a message shows, in UTF-16 code units. */
const SHOWN_LENGTH = 100;

/** The text of rules has an error. */
export class ListingRulesError extends Error {}

/**
 * Reads the rules of an operator, one a line:
 *
 *     chains ethereum base arbitrum          # only these, in this order; further lines add to it
 *     hide gnosis                            # a chain and its tokens
 *     hide base:0x8335…                      # a token
 *     accept ethereum:0xa0b8… decimals 6 18  # the change from 6 to 18 is right
 *     keep ethereum:0xa0b8… decimals 6       # no other value is ever right
 *
 * `#` starts a comment at the beginning of a line and after white space. A word with white space is written as a JSON
 * string. See `placeOf` for how chains and tokens are named, and `FORMS` for the facts and their values.
 *
 * @throws ListingRulesError for the first error: its line, what was expected and what is there
 */
export function parseListingRules(text: string): ListingRules {
  if (text.length > MAX_RULES_LENGTH) {
    throw new ListingRulesError(`expected at most ${MAX_RULES_LENGTH} characters, got ${text.length}`);
  }
  const rules = new RuleCollector();
  // Each match is a line with its end.
  for (const [line] of text.matchAll(/[^\r\n]*(?:\r\n|[\r\n]|$)/g)) rules.add(line);
  return createListingRules(rules);
}

/**
 * The rule that accepts a change, for a message that says what to paste.
 *
 * @param row the row with its key, or with its key and address
 * @returns undefined if no rule can say it, such as for the key of a chain that reads like an identifier by CAIP
 */
export function acceptRule(
  row: NamedRow,
  fact: GuardedFact,
  served: string,
  upstream: string,
): string | undefined {
  return checkedRule(row, 'accept', [fact, served, upstream], (rules, key) => {
    return rules.verdictOn(key, fact, served, upstream) === 'accept';
  });
}

/**
 * The rule that keeps the value that is served.
 *
 * @param row the row with its key, or with its key and address
 * @returns undefined if no rule can say it
 */
export function keepRule(row: NamedRow, fact: GuardedFact, served: string): string | undefined {
  return checkedRule(row, 'keep', [fact, served], (rules, key) => {
    return rules.keptFacts(key)?.get(fact) === served;
  });
}

/** A row as a rule names it. */
type NamedRow = Pick<Chain, 'chainKey'> & Partial<Pick<Token, 'address'>>;

/** The upstream chooses these texts: what is pasted must be read as what is meant, and as nothing else. */
function checkedRule(
  { chainKey, address }: NamedRow,
  verb: FactRule['verb'],
  words: readonly string[],
  isMeant: (rules: ResolvedRules, key: string) => boolean,
): string | undefined {
  const place = address === undefined ? chainKey : `${chainKey}:${address}`;
  const rule = [verb, place, ...words].map(wordFor).join(' ');
  const key = address === undefined ? chainKey : tokenKey(chainKey, address);
  try {
    return isMeant(
      parseListingRules(rule).resolve(() => []),
      key,
    )
      ? rule
      : undefined;
  } catch (error) {
    if (error instanceof ListingRulesError) return undefined;
    throw error;
  }
}

/** The rules of the lines so far. */
class RuleCollector {
  size = 0;
  order: Place[] | undefined;
  readonly hidden: Place[] = [];
  readonly facts: FactRule[] = [];
  /** The rule that keeps a fact, and the rules that accept changes of it, by the fact and its place. */
  readonly #kept = new Map<string, FactRule>();
  readonly #accepted = new Map<string, FactRule[]>();
  #text = '';
  #line = 0;

  /** @throws ListingRulesError if the next line is neither a rule nor empty, or contradicts an earlier one */
  add(text: string): void {
    this.#text = text;
    this.#line++;
    const words = wordsOf(text);
    if (!words) throw this.#error('a word that begins with a double quote to be a JSON string');
    const [verb, ...rest] = words;
    if (verb === undefined) return;
    if (++this.size > MAX_RULES) throw this.#error(`at most ${MAX_RULES} rules`);
    if (verb === 'chains') this.#addOrder(rest);
    else if (verb === 'hide') this.#addHidden(rest);
    else if (verb === 'accept' || verb === 'keep') this.#addFact(verb, rest);
    else throw this.#error('a rule that begins with chains, hide, accept or keep');
  }

  #addOrder(words: readonly string[]): void {
    const expected = 'keys or CAIP-2 identifiers of chains after "chains"';
    if (words.length === 0) throw this.#error(expected);
    this.order ??= [];
    for (const word of words) {
      const place = placeOf(word);
      if (!place || addressOf(place) !== undefined) throw this.#error(expected, word);
      this.order.push(place);
    }
  }

  #addHidden([word = '', ...rest]: readonly string[]): void {
    const place = placeOf(word);
    if (!place || rest.length > 0) throw this.#error(`one ${PLACE} after "hide"`);
    this.hidden.push(place);
  }

  #addFact(verb: FactRule['verb'], [word = '', fact = '', ...values]: readonly string[]): void {
    const line = this.#line;
    const place = placeOf(word);
    if (!place) throw this.#error(`a ${PLACE} after "${verb}"`);
    const address = addressOf(place);
    const row = address === undefined ? 'chain' : 'token';
    const form = formOf(fact);
    if (!isGuardedFact(fact) || form?.of !== row) {
      throw this.#error(`a fact of this ${row}: ${factsOf(row).join(', ')}`, fact);
    }
    const [first = '', second = ''] = values;
    if (verb === 'accept' && (values.length !== 2 || foldValue(fact, first) === foldValue(fact, second))) {
      throw this.#error('two different values after "accept": the one that is served and the new one');
    }
    if (verb === 'keep' && values.length !== 1) throw this.#error('one value after "keep"');
    const wrong = values.find((value) => !form.isValue(value));
    if (wrong !== undefined) throw this.#error(`${form.expected} as the value of ${fact}`, wrong);
    if (fact === 'address' && foldValue(fact, first) !== address) {
      throw this.#error("the token's own address as the first value of address", first);
    }
    const rule: FactRule =
      verb === 'accept'
        ? { verb, line, place, fact, from: first, value: second }
        : { verb, line, place, fact, value: first };
    this.#compare(rule);
    this.facts.push(rule);
  }

  /** Compares a rule with the earlier ones about the same fact. */
  #compare(rule: FactRule): void {
    const { verb, fact, value, place } = rule;
    const key = `${fact} ${placeKey(place)}`;
    const kept = this.#kept.get(key);
    const accepted = this.#accepted.get(key) ?? [];
    const opponents = kept ? [kept] : verb === 'keep' ? accepted : [];
    const other = opponents.find((one) => foldValue(fact, one.value) !== foldValue(fact, value));
    if (other) throw this.#error(`no contradiction of line ${other.line}, which has "${other.verb}"`);
    if (kept) return;
    if (verb === 'keep') this.#kept.set(key, rule);
    else if (accepted.push(rule) === 1) this.#accepted.set(key, accepted);
  }

  #error(expected: string, got: string = this.#text.trim()): ListingRulesError {
    const shown = quoted(got.slice(0, SHOWN_LENGTH));
    return new ListingRulesError(`line ${this.#line}: expected ${expected}; got ${shown}`);
  }
}

/** Completes an error message. */
const PLACE = 'chain (key or CAIP-2) or token (chain:address or CAIP-19)';

/**
 * Reads `ethereum`, `ethereum:0xa0b8…`, `eip155:1` or `eip155:1/erc20:0xa0b8…`. What can be CAIP is CAIP:
 * `eip155:100` is the chain with that number and not a token. Any other text with a colon is a token; the address
 * begins after the first colon, and can have further ones.
 *
 * @returns undefined if a part is missing
 */
function placeOf(text: string): Place | undefined {
  const slash = text.indexOf('/');
  const caip2 = parseCaip2(slash < 0 ? text : text.slice(0, slash));
  if (caip2 !== undefined) {
    if (slash < 0) return { caip2, asset: undefined };
    const asset = parseCaip19(`${caip2}${text.slice(slash)}`);
    return asset?.assetNamespace && asset.address ? { caip2, asset } : undefined;
  }
  const colon = text.indexOf(':');
  const chainKey = foldChainKey(colon < 0 ? text : text.slice(0, colon));
  const address = colon < 0 ? undefined : foldAddress(text.slice(colon + 1));
  return chainKey === '' || address === '' ? undefined : { chainKey, address };
}

/** Sticky: the end of the line, a comment, a JSON string, or a word without quotes. */
const WORD = /\s*(?:(?<end>$|#)|(?<quoted>"[^"\\]*(?:\\.[^"\\]*)*")(?=\s|$)|(?<bare>[^\s"]\S*))/y;

/** A word that needs no quotes: printable ASCII, without a quote or a comment at its beginning. */
const BARE = /^[!$-~][!-~]*$/;

/**
 * Splits a line into its words; none for an empty line or a comment.
 *
 * @returns undefined if a word begins with a double quote and is no JSON string
 */
function wordsOf(line: string): readonly string[] | undefined {
  const words: string[] = [];
  WORD.lastIndex = 0;
  for (;;) {
    const { end, quoted, bare } = WORD.exec(line)?.groups ?? {};
    if (end !== undefined) return words;
    const word = bare ?? unquoted(quoted);
    if (word === undefined) return undefined;
    words.push(word);
  }
}

function unquoted(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as string);
  } catch {
    return undefined;
  }
}

/** Writes a word so that {@link wordsOf} reads it, in ASCII alone: look-alike and invisible characters show. */
function wordFor(text: string): string {
  return BARE.test(text) ? text : quoted(text);
}

/** The text as a JSON string in ASCII alone. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
