/** Checks the file of listing rules at the start. */
import { readFileSync, statSync } from 'node:fs';
import { SettingError } from '../config-values.js';
import { ListingRulesError, MAX_RULES_LENGTH, parseListingRules } from '../domain/listing-rules.js';

/**
 * Checks the file of rules at the start.
 *
 * @returns its path: the file is read again whenever it changes
 * @throws SettingError if it cannot be read, or has an error
 */
export function listingRulesFile(path: string): string {
  const fault = faultOf(path);
  if (fault === undefined) return path;
  throw new SettingError(
    'a text file of rules about the listings',
    (text) => `${JSON.stringify(text.slice(0, 100))}${fault}`,
  );
}

function faultOf(path: string): string | undefined {
  try {
    const found = statSync(path);
    // A FIFO would block the start for ever, and a device has no end.
    if (!found.isFile()) return ', which is not a regular file';
    if (found.size > MAX_RULES_LENGTH) {
      return `, which has ${found.size} bytes and may have ${MAX_RULES_LENGTH}`;
    }
    parseListingRules(readFileSync(path, 'utf8'));
    return undefined;
  } catch (error) {
    if (error instanceof ListingRulesError) return ` with this error: ${error.message}`;
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    return `, which cannot be read (${code})`;
  }
}
