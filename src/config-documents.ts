/** Reads the file of trusted documents. */
import { readFileSync } from 'node:fs';
import { SettingError } from './config-values.js';

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
  const refuse = (fault: string): never => {
    throw new SettingError(EXPECTED, (text) => `${JSON.stringify(text.slice(0, 100))}, ${fault}`);
  };
  return documentsOf(read(path, refuse), refuse);
}

/**
 * Reads the documents from the content of such a file, after JSON.parse.
 *
 * @throws SettingError if it is of another format
 */
export function documentsIn(json: unknown): DocumentManifest {
  return documentsOf(json, (fault) => {
    throw new SettingError(EXPECTED, () => `${kindOf(json)}, ${fault}`);
  });
}

/** Throws an error with this fault; the text completes "got …,". */
type Refuse = (fault: string) => never;

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

function read(path: string, refuse: Refuse): unknown {
  let text = '';
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown error';
    refuse(`which cannot be read (${code})`);
  }
  try {
    return JSON.parse(text);
  } catch {
    return refuse('which is not JSON');
  }
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
