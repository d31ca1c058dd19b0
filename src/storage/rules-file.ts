/** Reads the file of the operator's rules, and reads it again when it changes. */
import { unwatchFile, watchFile } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import {
  type ListingRules,
  ListingRulesError,
  MAX_RULES_LENGTH,
  parseListingRules,
} from '../domain/listing-rules.js';
import type { Logger } from '../logger/logger.js';

/**
 * Reads a file of rules, and again when it has changed and then stayed the same for `settleMs`: before that, it may be
 * half written. Polls the file, because polling also notices renames, changed links, and changes on network file systems.
 *
 * @throws ListingRulesError or an error of `node:fs`, if the file cannot be read at the start. Later errors are logged
 */
export async function openRulesFile(
  path: string,
  onChange: (rules: ListingRules) => void,
  log: Logger,
  settleMs = 1_000,
) {
  let { text, rules } = await read(path);
  let fault: string | undefined;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  async function readAgain(): Promise<void> {
    const found = await read(path).catch((error: Error) => error.message);
    if (isClosed) return;
    const before = fault;
    fault = typeof found === 'string' ? found : undefined;
    if (typeof found === 'string') {
      const facts = { file: path, reason: found };
      if (found !== before)
        log.error(facts, `LISTING_RULES has an error: ${found}. The last rules stay in force`);
      return;
    }
    const facts = { file: path, rules: found.rules.length };
    if (found.text !== text) {
      ({ text, rules } = found);
      log.info(facts, 'LISTING_RULES has changed, and its rules apply from now on');
      onChange(rules);
    } else if (before !== undefined)
      log.info(facts, 'LISTING_RULES has no error any more, and its rules have not changed');
  }

  function readOnceSettled(): void {
    clearTimeout(timer);
    timer = setTimeout(() => {
      readAgain().catch((err: unknown) => log.error({ err, file: path }, 'Internal error in new rules'));
    }, settleMs).unref();
  }
  watchFile(path, { interval: settleMs / 2, persistent: false }, readOnceSettled);
  // Reads once more, because polling does not notice a change between the first read and the first poll.
  readOnceSettled();

  return {
    get rules() {
      return rules;
    },
    close(): void {
      isClosed = true;
      unwatchFile(path, readOnceSettled);
      clearTimeout(timer);
    },
  };
}

async function read(path: string): Promise<{ readonly text: string; readonly rules: ListingRules }> {
  // Checks the size first: a file that is too large for the memory, such as a log, can be there by mistake.
  const { size } = await stat(path);
  if (size > MAX_RULES_LENGTH)
    throw new ListingRulesError(`expected at most ${MAX_RULES_LENGTH} bytes, got ${size}`);
  const text = await readFile(path, 'utf8');
  return { text, rules: parseListingRules(text) };
}
