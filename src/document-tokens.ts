import { Lexer, type Source, TokenKind } from 'graphql';

/**
 * Whether a document has more lexical tokens than this. Stops reading at the first one too many, so that a long
 * document costs no more than one at the limit. A syntax error ends the count: the parser names its place.
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
