/** Reads the file of the operator's rules, and reads it again when it changes. */
import { readFile, stat } from 'node:fs/promises';
import {
  type ListingRules,
  ListingRulesError,
  MAX_RULES_LENGTH,
  parseListingRules,
} from '../domain/listing-rules.js';
import type { Logger } from '../logger/logger.js';

/**
 * Reads a file of rules, and again every `settleMs`. A new content applies when two reads in a row have found it: before
 * that, it may be half written. Polls the file, because polling also notices renames, changed links, and changes on
 * network file systems.
 *
 * @throws ListingRulesError or an error of `node:fs`, if the file cannot be read at the start. Later errors are logged
 */
export async function openRulesFile(
  path: string,
  onChange: (rules: ListingRules) => void,
  log: Logger,
  settleMs = 1_000,
) {
  /** The text of the file or, if it cannot be read, the error. */
  let found = await read(path);
  let handled = found;
  let rules = parseListingRules(found);
  let isClosed = false;

  async function readAgain(): Promise<void> {
    const before = found;
    const content = await read(path).catch((error: Error) => error);
    found = String(content);
    if (isClosed || found !== before || found === handled) return;
    handled = found;
    try {
      if (content instanceof Error) throw content;
      rules = parseListingRules(content);
    } catch (error) {
      const facts = { file: path, reason: (error as Error).message };
      log.error(facts, `LISTING_RULES has an error: ${facts.reason}. The last rules stay in force`);
      return;
    }
    const facts = { file: path, rules: rules.length };
    log.info(facts, 'LISTING_RULES has changed, and its rules apply from now on');
    onChange(rules);
  }

  async function poll(): Promise<void> {
    await readAgain().catch((err: unknown) => log.error({ err, file: path }, 'Internal error in new rules'));
    if (!isClosed) timer = setTimeout(poll, settleMs).unref();
  }
  let timer = setTimeout(poll, settleMs).unref();

  return {
    get rules() {
      return rules;
    },
    close(): void {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

async function read(path: string): Promise<string> {
  // Checks the size first: a file that is too large for the memory, such as a log, can be there by mistake.
  const { size } = await stat(path);
  if (size > MAX_RULES_LENGTH)
    throw new ListingRulesError(`expected at most ${MAX_RULES_LENGTH} bytes, got ${size}`);
  return readFile(path, 'utf8');
}
