/** Reads the files that settings name, and checks their content at the start. */
import { readFileSync, statSync } from 'node:fs';
import { ListingRulesError, MAX_RULES_LENGTH, parseListingRules } from '../domain/listing-rules.js';
import { SettingError } from './values.js';

/** Throws a SettingError. Its message names the file and then the fault, such as "which is empty". */
type Refuse = (fault: string) => never;

function refusing(expected: string, path: string): Refuse {
  return (fault) => {
    throw new SettingError(expected, () => `${JSON.stringify(path.slice(0, 100))}, ${fault}`);
  };
}

/** @param maxBytes the limit for a regular file; without a limit, a file of any kind and size is read */
function readText(path: string, refuse: Refuse, maxBytes?: number): string {
  try {
    if (maxBytes !== undefined) {
      const found = statSync(path);
      // A FIFO would block the start for ever, and a device has no end.
      if (!found.isFile()) refuse('which is not a regular file');
      if (found.size > maxBytes) refuse(`which has ${found.size} bytes and may have ${maxBytes}`);
    }
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof SettingError) throw error;
    return refuse(`which cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
}

/**
 * Checks the file of listing rules at the start.
 *
 * @returns its path and not its rules, because the file is read again whenever it changes
 * @throws SettingError if it cannot be read, or has an error
 */
export function listingRulesFile(path: string): string {
  const expected = 'a text file of rules about the listings';
  const text = readText(path, refusing(expected, path), MAX_RULES_LENGTH);
  try {
    parseListingRules(text);
    return path;
  } catch (error) {
    if (!(error instanceof ListingRulesError)) throw error;
    const shown = `${JSON.stringify(path.slice(0, 100))} with this error: ${error.message}`;
    throw new SettingError(expected, () => shown);
  }
}

/** The settings with passwords or keys. Each can be read from a file, as container platforms provide secrets. */
export const SECRET_SETTINGS: readonly string[] = ['UPSTREAM_HEADERS', 'REDIS_URL'];

const MAX_SECRET_BYTES = 65_536;

/** The variable that names the file with the value of a setting, such as `REDIS_URL_FILE`. */
export function fileVariable(name: string): string {
  return `${name}_FILE`;
}

/**
 * Reads the value of a setting from a file.
 *
 * @returns the content without the white space around it
 * @throws SettingError if it is not a regular file, is empty, has more than 64 KiB, or cannot be read
 */
export function readSecret(name: string, path: string): string {
  const refuse = refusing(`${fileVariable(name)} to name a file with the value`, path);
  return readText(path, refuse, MAX_SECRET_BYTES).trim() || refuse('which is empty');
}

/** The texts of documents, by the ids that clients send in place of them. */
export type DocumentManifest = ReadonlyMap<string, string>;

const APOLLO_FORMAT = 'apollo-persisted-query-manifest';
/** Ids are hashes or names. A longer text is a mistake. */
const MAX_ID_LENGTH = 200;

/**
 * Reads a file of documents: an Apollo manifest, or a JSON object of ids and texts, which Relay's compiler and GraphQL
 * Code Generator write.
 *
 * @throws SettingError if it cannot be read, or is of another format
 */
export function documentManifest(path: string): DocumentManifest {
  const refuse = refusing(EXPECTED, path);
  const text = readText(path, refuse);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    refuse('which is not JSON');
  }
  return documentsOf(json, refuse);
}

/**
 * Reads the documents from the content of a file of documents, after JSON.parse.
 *
 * @throws SettingError if it is of another format
 */
export function documentsIn(json: unknown): DocumentManifest {
  return documentsOf(json, (fault) => {
    throw new SettingError(EXPECTED, () => `${kindOf(json)}, ${fault}`);
  });
}

const EXPECTED =
  'a JSON file of documents as generate-persisted-query-manifest, relay-compiler or GraphQL Code Generator writes it';

function documentsOf(json: unknown, refuse: Refuse): DocumentManifest {
  const documents = new Map<string, string>();
  for (const [id, text] of isObject(json) ? entriesOf(json, refuse) : refuse(`which is ${kindOf(json)}`)) {
    const shown = JSON.stringify(String(id).slice(0, 100));
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH)
      refuse(`where ${shown} is not an id of 1 to ${MAX_ID_LENGTH} characters`);
    else if (typeof text !== 'string') refuse(`where the text of ${shown} is ${kindOf(text)}`);
    else if ((documents.get(id) ?? text) !== text) refuse(`where ${shown} stands for two documents`);
    else documents.set(id, text);
  }
  if (documents.size === 0) refuse('which has no documents');
  return documents;
}

function entriesOf(
  json: Readonly<Record<string, unknown>>,
  refuse: Refuse,
): readonly (readonly [id: unknown, text: unknown])[] {
  const { format, version, operations } = json;
  if (operations === undefined || (typeof operations === 'string' && format === undefined))
    return Object.entries(json);
  if (format !== APOLLO_FORMAT || version !== 1)
    return refuse(
      `whose format is ${JSON.stringify(format)} and version ${JSON.stringify(version)}, not "${APOLLO_FORMAT}" and 1`,
    );
  if (!Array.isArray(operations)) return refuse(`whose "operations" are ${kindOf(operations)}, not an array`);
  return operations.map((operation: unknown) =>
    isObject(operation)
      ? ([operation.id, operation.body] as const)
      : refuse(`with an operation that is ${kindOf(operation)}`),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
