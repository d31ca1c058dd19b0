import { Lexer, type Source, TokenKind } from 'graphql';
import { TEXT_LIMITS } from '../domain/text-limits.js';

/** The limit that a document exceeds: of its lexical tokens, or of the length of one of its names. */
export type TokenLimit = 'tokens' | 'name';

/** Also finds words in texts and comments, so the tokens decide. The look-behind keeps it linear. */
const LONG_WORD = new RegExp(`(?<!\\w)\\w{${TEXT_LIMITS.name + 1}}`);

/**
 * Checks a document before it is parsed. It stops at the first token over a limit, so a long document costs no more
 * than one at the limit. A syntax error ends the check: the parser stops at the same place, and reports it.
 *
 * Names are limited because a response repeats the response key of a field for each row.
 *
 * @returns undefined for a document within the limits
 */
export function exceededTokenLimit(source: Source, maxTokens: number): TokenLimit | undefined {
  const { body } = source;
  // A token has at least one character.
  if (body.length <= maxTokens && !LONG_WORD.test(body)) return undefined;
  const lexer = new Lexer(source);
  try {
    for (let tokens = 0; tokens <= maxTokens; tokens++) {
      const { kind, start, end } = lexer.advance();
      if (kind === TokenKind.EOF) return undefined;
      if (kind === TokenKind.NAME && end - start > TEXT_LIMITS.name) return 'name';
    }
  } catch {
    return undefined;
  }
  return 'tokens';
}
