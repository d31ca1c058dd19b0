import { createHash } from 'node:crypto';
import type { EvmChain, TokenListState } from '../domain/history.js';
import type { Token } from '../domain/listing.js';
import { type Encoding, encode } from '../http/encodings.js';
import { forEachChunk } from '../scheduling/chunks.js';
import { tokenListContentOf } from '../snapshots/history/token-list.js';
import { shortDigest } from '../snapshots/short-digest.js';

/** Allowed by the schema: letters, digits and spaces. */
const NAME = 'Chains and Tokens';

/** A token list as JSON. Compressed bodies are made once and on demand. */
export class TokenListDocument {
  private readonly encoded = new Map<Encoding, Promise<Uint8Array<ArrayBuffer>>>();

  constructor(
    readonly body: Uint8Array<ArrayBuffer>,
    /** A digest of the body. */
    private readonly digest: string,
    /** How many tokens it has. The schema does not allow a list without any. */
    readonly count: number,
    /** How many tokens of its chains are left out because the schema does not allow them. */
    readonly omitted: number,
  ) {}

  etag(encoding: Encoding): string {
    return encoding === 'identity' ? `"${this.digest}"` : `"${this.digest}-${encoding}"`;
  }

  bytes(encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> {
    const { body, encoded } = this;
    const known = encoded.get(encoding);
    if (known) return known;
    // Uncompressed, it must not be a copy.
    const bytes =
      encoding === 'identity'
        ? Promise.resolve(body)
        : encode(body, encoding, true).then((result) => new Uint8Array(result));
    encoded.set(encoding, bytes);
    return bytes;
  }
}

/**
 * Makes the token list of these chains, in chunks that yield to requests.
 *
 * @param rows tokens, perhaps also of other chains
 */
export async function createTokenListDocument(
  rows: readonly Token[],
  chains: readonly EvmChain[],
  { version, at }: TokenListState,
): Promise<TokenListDocument> {
  const { entries, omitted } = await tokenListContentOf(rows, chains);
  const facts = JSON.stringify({ name: NAME, timestamp: new Date(at).toISOString(), version });
  const parts = [Buffer.from(`${facts.slice(0, -1)},"tokens":[`)];
  await forEachChunk(entries, (chunk, offset) => {
    parts.push(Buffer.from((offset > 0 ? ',' : '') + JSON.stringify(chunk).slice(1, -1)));
  });
  parts.push(Buffer.from(']}'));
  const digest = createHash('sha256');
  for (const part of parts) digest.update(part);
  const body = new Uint8Array(Buffer.concat(parts));
  return new TokenListDocument(body, shortDigest(digest), entries.length, omitted);
}
