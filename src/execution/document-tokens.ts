import { Lexer, type Source, TokenKind } from 'graphql';

/**
 * Whether a document has more lexical tokens than this. It stops at the first token over the limit, so a long document
 * costs no more than one at the limit. A syntax error ends the count: the parser reports it.
 */
export function hasMoreTokens(source: Source, max: number): boolean {
  // A token has at least one character.
  if (source.body.length <= max) return false;
  const lexer = new Lexer(source);
  try {
    for (let tokens = 0; tokens <= max; tokens++) {
      if (lexer.advance().kind === TokenKind.EOF) return false;
    }
  } catch {
    return false;
  }
  return true;
}
