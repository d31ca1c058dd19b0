/** Reads the files that settings name, and checks their content at the start. */
import { readFileSync, statSync } from 'node:fs';
import * as v from 'valibot';
import { ListingRulesError, MAX_RULES_LENGTH, parseListingRules } from '../domain/listing-rules.js';
import { shown } from '../domain/text-limits.js';
import { SettingError } from './values.js';

/** @param fault the end of the message, after the name of the file */
function fileError(expected: string, path: string, fault: string): SettingError {
  return new SettingError(expected, path, shown(path) + fault);
}

/** @throws SettingError if the file is not regular (a FIFO has no end), too large or unreadable */
function readText(path: string, expected: string, maxBytes = Number.POSITIVE_INFINITY): string {
  try {
    const found = statSync(path);
    if (!found.isFile()) throw fileError(expected, path, ', which is not a regular file');
    if (found.size > maxBytes)
      throw fileError(expected, path, `, which has ${found.size} bytes; the limit is ${maxBytes}`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof SettingError) throw error;
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw fileError(expected, path, `, which cannot be read (${code})`);
  }
}

/** Returns the path, because the file is read again whenever it changes. */
export function listingRulesFile(path: string): string {
  const expected = 'a text file of rules about the listings';
  const text = readText(path, expected, MAX_RULES_LENGTH);
  try {
    parseListingRules(text);
    return path;
  } catch (error) {
    if (!(error instanceof ListingRulesError)) throw error;
    throw fileError(expected, path, ` with this error: ${error.message}`);
  }
}

/** The largest file with the value of a setting: many times the length of any URL or list of headers. */
const MAX_SECRET_BYTES = 65_536;

/** The variable that names the file with the value of a setting, such as `REDIS_URL_FILE`. */
export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

export function readSecret(name: string, path: string): string {
  const expected = `${fileVariable(name)} to name a file with the value`;
  const text = readText(path, expected, MAX_SECRET_BYTES).trim();
  if (!text) throw fileError(expected, path, ', which is empty');
  return text;
}

export type DocumentManifest = ReadonlyMap<string, string>;

const EXPECTED =
  'a JSON file of documents as generate-persisted-query-manifest, relay-compiler or GraphQL Code Generator writes it';

/** Ids are hashes or names: a text of more than 200 characters is a mistake. */
const Id = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const ApolloManifest = v.object({
  format: v.literal('apollo-persisted-query-manifest'),
  version: v.literal(1),
  operations: v.array(v.object({ id: Id, body: v.string() })),
});
const TextsById = v.record(Id, v.string());
const Json = v.pipe(v.string(), v.parseJson());

/** Reads an Apollo manifest, or a JSON object of ids and texts, which Relay and GraphQL Code Generator write. */
export function documentManifest(path: string): DocumentManifest {
  const { success, output } = v.safeParse(Json, readText(path, EXPECTED));
  if (!success) throw fileError(EXPECTED, path, ', which is not JSON');
  return documentsIn(output, shown(path));
}

/** @param source what error messages call the file or object */
export function documentsIn(json: unknown, source: string): DocumentManifest {
  const refuse = (fault: string) => new SettingError(EXPECTED, '', `${source} ${fault}`);
  // `TextsById` would accept an array, with its indexes as the ids.
  if (Array.isArray(json)) throw refuse('which is an array');
  const isManifest = typeof json === 'object' && json !== null && 'operations' in json;
  const { success, output, issues } = v.safeParse(
    isManifest && typeof json.operations !== 'string' ? ApolloManifest : TextsById,
    json,
  );
  if (!success) {
    const [issue] = issues;
    const message = [v.getDotPath(issue), issue.message].filter(Boolean).join(': ');
    throw refuse(`with this error: ${message.slice(0, 300)}`);
  }
  const entries = Array.isArray(output.operations)
    ? output.operations.map(({ id, body }) => [id, body] as const)
    : Object.entries(output as Record<string, string>);
  const documents = new Map(entries);
  if (documents.size === 0) throw refuse('without documents');
  const repeated = entries.find(([id, text]) => documents.get(id) !== text);
  if (repeated) throw refuse(`where ${JSON.stringify(repeated[0])} names two documents`);
  return documents;
}
