import type { Logger } from '../logger.js';

/** How many invalid documents the log names. */
const MAX_LOGGED = 50;

/**
 * Logs which trusted documents no client can use.
 *
 * @param count how many there are in all
 * @param invalid the reason for each, by its id
 */
export function logInvalidDocuments(log: Logger, count: number, invalid: ReadonlyMap<string, string>): void {
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
