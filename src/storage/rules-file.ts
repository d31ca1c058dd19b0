/** Reads the file of the operator's rules, and reads it again when it changes. */
import { stat } from 'node:fs/promises';
import type { ListingRules } from '../domain/listing-rules.js';
import { MAX_RULES_LENGTH, parseListingRules } from '../domain/listing-rules.js';
import type { Logger } from '../logger.js';
import { NotReadable, readRegular } from './read-regular.js';

export interface RulesFileOptions {
  readonly path: string;
  /** Called with the new rules each time the text of the file has changed. */
  readonly onChange: (rules: ListingRules) => void;
  /** How often to look whether the file has changed, in milliseconds; a second unless given. */
  readonly pollMs?: number | undefined;
  readonly log: Logger;
}

/** A file of rules that is read again when it changes. */
export interface RulesFile {
  /** The rules that were last read from the file without an error. */
  readonly rules: ListingRules;
  /** Stops looking for changes. */
  close(): void;
}

/**
 * Reads a file of rules, and polls for changes: unlike notifications of the file system, polling works on every file
 * system, and after renames and changes of links. A change is read when two polls in a row have found the same state.
 *
 * @throws ListingRulesError, NotReadable or an error of `node:fs`, if the file cannot be read at the start. Later errors
 *   are logged, and the last rules stay in force
 */
export async function openRulesFile(options: RulesFileOptions): Promise<RulesFile> {
  const { path, onChange, pollMs = 1_000, log } = options;
  // Before the content is read, so that a later change is found.
  let readState = await stateOf(path);
  let lastState = readState;
  let { text, rules } = await read(path);
  /** The error in the present content of the file; undefined if it has none. */
  let fault: string | undefined;
  let isClosed = false;

  async function poll(): Promise<void> {
    const state = await stateOf(path);
    const isSettled = state === lastState;
    lastState = state;
    if (!isSettled || state === readState) return;
    const found = await read(path).catch(messageOf);
    // A file that has just changed may be half written.
    if (isClosed || (await stateOf(path)) !== state) return;
    readState = state;
    const before = fault;
    fault = typeof found === 'string' ? found : undefined;
    if (typeof found === 'string') {
      const facts = { file: path, reason: found };
      if (found !== before)
        log.error(facts, `LISTING_RULES has an error, and the last rules stay in force: ${found}`);
    } else if (found.text !== text) {
      ({ text, rules } = found);
      log.info(
        { file: path, rules: rules.size },
        'LISTING_RULES has changed, and its rules apply from now on',
      );
      onChange(rules);
    } else if (before !== undefined) {
      log.info(
        { file: path, rules: rules.size },
        'LISTING_RULES has no error any more, and its rules have not changed',
      );
    }
  }

  let timer: NodeJS.Timeout;
  function schedule(): void {
    timer = setTimeout(async () => {
      await poll().catch((err: unknown) => log.error({ err, file: path }, 'Internal error in new rules'));
      if (!isClosed) schedule();
    }, pollMs).unref();
  }
  schedule();

  return {
    get rules() {
      return rules;
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

async function read(path: string): Promise<{ readonly text: string; readonly rules: ListingRules }> {
  const text = (await readRegular(path, MAX_RULES_LENGTH)).toString('utf8');
  return { text, rules: parseListingRules(text) };
}

/** A text that changes when the file at the path is replaced or written; the code of the error if it cannot be read. */
async function stateOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error instanceof NotReadable ? `it is ${error.message}` : error.message;
}
