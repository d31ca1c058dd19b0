import { setImmediate } from 'node:timers/promises';
import { parse, Source } from 'graphql';
import type { Documents } from './documents.js';

/** Where the report goes. */
interface ReportLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

type DocumentChecks = Pick<Documents, 'checkTokens' | 'errorsOf'>;

/** How many invalid documents the log names. */
const MAX_LOGGED = 50;

/**
 * Logs which trusted documents no client can use. It never rejects.
 *
 * @param manifest texts by id
 */
export async function reportInvalidDocuments(
  manifest: ReadonlyMap<string, string>,
  documents: DocumentChecks,
  log: ReportLog,
): Promise<void> {
  const invalid = await invalidDocuments(manifest, documents);
  const count = manifest.size;
  if (invalid.size === 0) {
    log.info({ count }, 'All trusted documents are valid');
    return;
  }
  const shown = Object.fromEntries([...invalid].slice(0, MAX_LOGGED));
  log.warn(
    { count, invalidCount: invalid.size, invalid: shown },
    'Some trusted documents are invalid: clients that ask for them get these errors',
  );
}

/** The reason for each invalid document, by its id. Each is checked in a turn of the event loop of its own. */
async function invalidDocuments(
  manifest: ReadonlyMap<string, string>,
  documents: DocumentChecks,
): Promise<ReadonlyMap<string, string>> {
  const invalid = new Map<string, string>();
  for (const [id, text] of manifest) {
    await setImmediate();
    try {
      documents.checkTokens(new Source(text));
      const [error] = documents.errorsOf(parse(text));
      if (error) invalid.set(id, error.message);
    } catch (error) {
      invalid.set(id, error instanceof Error ? error.message : String(error));
    }
  }
  return invalid;
}
