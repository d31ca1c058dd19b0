/** Documents that clients may request by id, and the refusal of others with `TRUSTED_DOCUMENTS_ONLY`. */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { GraphQLError, getIntrospectionQuery, stripIgnoredCharacters } from 'graphql';
import type { Config } from '../config/config.js';
import type { ErrorCode, SERVER_ERRORS } from '../domain/error-codes.js';
import { shown } from '../domain/text-limits.js';
import type { Documents } from './documents.js';
import type { RequestParameters } from './operation-writer.js';

/** Matches a query for the SDL alone, as routers send it. Such a query is always accepted. */
const SDL_ONLY = /^(?:query(?: \w+)?)?\{(?:\w+:)?(?:_service\{sdl\}|_sdl)\}$/;
/** Many times the length of such a query, with room for white space and comments. */
const MAX_SDL_LENGTH = 500;
/** The introspection query that the playground sends. */
const PLAYGROUND_INTROSPECTION = getIntrospectionQuery({
  inputValueDeprecation: true,
  schemaDescription: true,
});

export type TrustedDocuments = NonNullable<ReturnType<typeof createTrustedDocuments>>;

/** Undefined without trusted documents. @param pageDocuments those of the gateway's own pages, which are trusted, too */
export function createTrustedDocuments(config: Config, pageDocuments: readonly string[]) {
  const { trustedDocuments, trustedDocumentsOnly, introspection } = config;
  if (!trustedDocuments) return undefined;
  const texts = textsByKey(trustedDocuments);
  const isAccepted = trustedDocumentsOnly
    ? createAcceptance(trustedDocuments, pageDocuments, introspection)
    : () => true;

  return {
    /**
     * Puts the text of a trusted document in place of its id: `documentId`, `doc_id` or
     * `extensions.persistedQuery.sha256Hash`. Gives an error if the document must not be executed.
     */
    resolve(parameters: RequestParameters): RequestParameters | GraphQLError {
      const { documentId, doc_id, ...others } = parameters;
      const { query = null, extensions } = others;
      const id = documentId ?? doc_id ?? undefined;
      const key = id ?? persistedHash(extensions);
      const text = typeof key === 'string' ? texts.get(key) : undefined;
      if (text !== undefined && (query === null || query === text)) return withText(text, others);
      if (id === undefined) {
        if (isAccepted(query)) return parameters;
        const message = `This gateway executes only documents that it knows (TRUSTED_DOCUMENTS_ONLY), got ${query === null ? 'no document' : 'another one'}. Ask for a known one by its "documentId", or ask the operator to add yours.`;
        return requestError(message, 'DOCUMENT_NOT_TRUSTED', 403);
      }
      if (text === undefined) {
        const message = `Expected the id of a document that this gateway knows, got ${typeof id === 'string' ? shown(id) : `a ${typeof id}`}. Ask its operator to add the document (TRUSTED_DOCUMENTS).`;
        return requestError(message, 'PERSISTED_QUERY_NOT_FOUND', 400);
      }
      const message = 'Expected a "documentId" or a "query", got both, and the id stands for another text.';
      return requestError(message, 'BAD_USER_INPUT', 400);
    },
  };
}

/** Texts by id, and by their SHA-256, unless that hash is the id of another text. */
function textsByKey(manifest: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const texts = new Map(manifest);
  for (const text of manifest.values()) {
    const hash = createHash('sha256').update(text).digest('hex');
    for (const key of [hash, `sha256:${hash}`]) if (!texts.has(key)) texts.set(key, text);
  }
  return texts;
}

/** Accepts trusted documents, and queries that ask only for the SDL. White space and comments do not matter. */
function createAcceptance(
  manifest: ReadonlyMap<string, string>,
  pageDocuments: readonly string[],
  introspection: boolean,
): (query: unknown) => boolean {
  const ofPages = pageDocuments.length > 0 && introspection ? [PLAYGROUND_INTROSPECTION] : [];
  const texts = new Set([...manifest.values(), ...pageDocuments, ...ofPages]);
  const stripped = new Set([...texts].map(withoutIgnored));
  // Texts far longer than all of these are refused at once: stripping takes long.
  const maxLength = 1.5 * [...texts].reduce((most, { length }) => Math.max(most, length), MAX_SDL_LENGTH);
  return (query) => {
    if (typeof query !== 'string') return false;
    if (texts.has(query)) return true;
    const text = query.length > maxLength ? undefined : withoutIgnored(query);
    if (text === undefined) return false;
    return stripped.has(text) || (text.length <= MAX_SDL_LENGTH && SDL_ONLY.test(text));
  };
}

/** The text without white space and comments; undefined if it cannot be split into lexical tokens. */
function withoutIgnored(text: string): string | undefined {
  try {
    return stripIgnoredCharacters(text);
  } catch {
    return undefined;
  }
}

function withText(query: string, { extensions, ...others }: RequestParameters): RequestParameters {
  if (typeof extensions !== 'object' || extensions === null) return { ...others, query };
  const { persistedQuery: _, ...rest } = extensions as Readonly<Record<string, unknown>>;
  return Object.keys(rest).length > 0 ? { ...others, query, extensions: rest } : { ...others, query };
}

/** The hash in the extensions of a request for a persisted query; undefined for any other request. */
export function persistedHash(extensions: unknown): string | undefined {
  const { persistedQuery } = (extensions ?? {}) as { persistedQuery?: unknown };
  const { version, sha256Hash } = (persistedQuery ?? {}) as { version?: unknown; sha256Hash?: unknown };
  return version === 1 && typeof sha256Hash === 'string' ? sha256Hash : undefined;
}

/** The error of a whole request, with its HTTP status. */
export function requestError(message: string, code: ErrorCode | keyof typeof SERVER_ERRORS, status: number) {
  return new GraphQLError(message, { extensions: { code, http: { status } } });
}

/** The log names at most this many invalid documents. */
const MAX_LOGGED = 50;

/** Logs which trusted documents are invalid, by their ids. Always resolves, and yields to requests. */
export async function reportInvalidDocuments(
  manifest: ReadonlyMap<string, string>,
  documents: Pick<Documents, 'parse' | 'errorsOf'>,
  log: Record<'info' | 'warn', (facts: object, message: string) => void>,
): Promise<void> {
  const errors: [id: string, message: string][] = [];
  for (const [id, text] of manifest) {
    await setImmediate();
    try {
      const [error] = documents.errorsOf(documents.parse(text));
      if (error) errors.push([id, error.message]);
    } catch (error) {
      errors.push([id, (error as Error).message]);
    }
  }
  const count = manifest.size;
  if (errors.length === 0) return log.info({ count }, 'All trusted documents are valid');
  log.warn(
    { count, invalidCount: errors.length, invalid: Object.fromEntries(errors.slice(0, MAX_LOGGED)) },
    'Some trusted documents are invalid: clients that ask for them get these errors',
  );
}
