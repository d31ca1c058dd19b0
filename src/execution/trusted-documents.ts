import { createHash } from 'node:crypto';
import { getIntrospectionQuery, stripIgnoredCharacters } from 'graphql';
import type { ErrorCode } from '../domain/error-codes.js';
import type { OperationParameters } from './operation-writer.js';

export interface TrustedDocumentsOptions {
  /** Texts by id; undefined: clients cannot ask by id. */
  readonly trustedDocuments?: ReadonlyMap<string, string> | undefined;
  /** Whether all other documents are refused. */
  readonly trustedDocumentsOnly?: boolean | undefined;
  /** The documents of the gateway's own pages, which are trusted, too. */
  readonly pageDocuments?: readonly string[] | undefined;
  readonly introspection: boolean;
}

/** The parameters of a request, with any others that it has. */
type Parameters = OperationParameters & Readonly<Record<string, unknown>>;

/** Why the document of a request is refused. */
export class DocumentRefusal {
  constructor(
    readonly code: ErrorCode | 'PERSISTED_QUERY_NOT_FOUND',
    /** Of HTTP. */
    readonly status: number,
    readonly message: string,
  ) {}
}

/** The one place that knows which text an id stands for, and which texts are accepted. */
export interface TrustedDocuments {
  /**
   * Puts the text into parameters that name a trusted document by `documentId`, `doc_id` or
   * `extensions.persistedQuery.sha256Hash`; they are then the same as if the text had been sent. Returns any other
   * parameters as they are.
   */
  resolve(parameters: Parameters): Parameters | DocumentRefusal;
}

/** The SDL that routers ask for. It costs nothing. */
const SDL_ONLY = /^(?:query(?: \w+)?)?\{(?:\w+:)?(?:_service\{sdl\}|_sdl)\}$/;
const MAX_SDL_LENGTH = 500;
const MAX_SHOWN = 100;

/** @returns undefined if there are no trusted documents */
export function createTrustedDocuments(options: TrustedDocumentsOptions): TrustedDocuments | undefined {
  const { trustedDocuments, trustedDocumentsOnly = false } = options;
  if (!trustedDocuments) return undefined;
  const texts = textsByKey(trustedDocuments);
  const isAccepted = trustedDocumentsOnly ? createAcceptance(trustedDocuments, options) : () => true;

  function byId(
    id: unknown,
    { documentId: _1, doc_id: _2, ...others }: Parameters,
  ): Parameters | DocumentRefusal {
    const text = typeof id === 'string' ? texts.get(id) : undefined;
    const { query = null } = others;
    if (text === undefined) return unknownId(id);
    if (query !== null && query !== text) {
      const message = 'Expected a "documentId" or a "query", got both, and the id stands for another text.';
      return new DocumentRefusal('BAD_USER_INPUT', 400, message);
    }
    return withText(text, others);
  }

  return {
    resolve(parameters) {
      const id = parameters.documentId ?? parameters.doc_id ?? undefined;
      if (id !== undefined) return byId(id, parameters);
      const { query = null } = parameters;
      const text = texts.get(hashIn(parameters.extensions) ?? '');
      if (text !== undefined && (query === null || query === text)) return withText(text, parameters);
      return isAccepted(query) ? parameters : notTrusted(query);
    },
  };
}

/** Texts by id, and by their SHA-256 where that is nobody's id. */
function textsByKey(manifest: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const texts = new Map(manifest);
  for (const text of manifest.values()) {
    const hash = createHash('sha256').update(text).digest('hex');
    for (const key of [hash, `sha256:${hash}`]) if (!texts.has(key)) texts.set(key, text);
  }
  return texts;
}

/** Accepts trusted documents, whatever their white space and comments. */
function createAcceptance(
  manifest: ReadonlyMap<string, string>,
  { pageDocuments = [], introspection }: TrustedDocumentsOptions,
): (query: unknown) => boolean {
  const ofPages = pageDocuments.length > 0 && introspection ? introspectionQueries() : [];
  const texts = new Set([...manifest.values(), ...pageDocuments, ...ofPages]);
  const stripped = new Set([...texts].map(withoutIgnored));
  // Reading much longer ones would cost more than they are worth.
  const longest = [...texts].reduce((most, { length }) => Math.max(most, length), MAX_SDL_LENGTH);
  const maxLength = 1.5 * longest;
  return (query) => {
    if (typeof query !== 'string') return false;
    if (texts.has(query)) return true;
    if (query.length > maxLength) return false;
    const text = withoutIgnored(query);
    return (
      text !== undefined && (stripped.has(text) || (text.length <= MAX_SDL_LENGTH && SDL_ONLY.test(text)))
    );
  };
}

/** Undefined for a text that cannot be read. */
function withoutIgnored(text: string): string | undefined {
  try {
    return stripIgnoredCharacters(text);
  } catch {
    return undefined;
  }
}

/** What the playground may ask, depending on its version. */
function introspectionQueries(): readonly string[] {
  const both = [true, false];
  return both.flatMap((inputValueDeprecation) =>
    both.flatMap((schemaDescription) =>
      both.flatMap((specifiedByUrl) =>
        both.flatMap((directiveIsRepeatable) =>
          both.map((oneOf) =>
            getIntrospectionQuery({
              inputValueDeprecation,
              schemaDescription,
              specifiedByUrl,
              directiveIsRepeatable,
              oneOf,
            }),
          ),
        ),
      ),
    ),
  );
}

function withText(query: string, { extensions, ...others }: Parameters): Parameters {
  if (typeof extensions !== 'object' || extensions === null) return { ...others, query };
  const { persistedQuery: _, ...rest } = extensions as Readonly<Record<string, unknown>>;
  return Object.keys(rest).length > 0 ? { ...others, query, extensions: rest } : { ...others, query };
}

function hashIn(extensions: unknown): string | undefined {
  const { persistedQuery } = (extensions ?? {}) as { persistedQuery?: unknown };
  const { version, sha256Hash } = (persistedQuery ?? {}) as { version?: unknown; sha256Hash?: unknown };
  return version === 1 && typeof sha256Hash === 'string' ? sha256Hash : undefined;
}

function unknownId(id: unknown): DocumentRefusal {
  const shown = typeof id === 'string' ? JSON.stringify(id.slice(0, MAX_SHOWN)) : `a ${typeof id}`;
  return new DocumentRefusal(
    'PERSISTED_QUERY_NOT_FOUND',
    400,
    `Expected the id of a document that this gateway knows, got ${shown}. Ask its operator to add the document (TRUSTED_DOCUMENTS).`,
  );
}

function notTrusted(query: unknown): DocumentRefusal {
  return new DocumentRefusal(
    'DOCUMENT_NOT_TRUSTED',
    403,
    `This gateway executes only documents that it knows (TRUSTED_DOCUMENTS_ONLY), got ${query === null ? 'none of them' : 'another one'}. Ask for a known one by its "documentId", or ask the operator to add yours.`,
  );
}
