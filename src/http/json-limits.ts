const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

export interface JsonLimits {
  /** How deep objects and arrays may be nested. */
  readonly levels: number;
  /** How many values it may have in all, objects and arrays among them. */
  readonly values: number;
}

/**
 * Finds the limit that a JSON text exceeds, before it is parsed. Functions that visit a value by calling themselves,
 * such as JSON.stringify, would exhaust the stack, and checks of schemas take a microsecond or more for each value.
 *
 * @param json need not be valid
 */
export function exceededLimit({ levels, values }: JsonLimits, json: string): keyof JsonLimits | undefined {
  let level = 0;
  let count = 1;
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      if (++level > levels) return 'levels';
      if (++count > values) return 'values';
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) level--;
    else if (code === COMMA && ++count > values) return 'values';
  }
  return undefined;
}
