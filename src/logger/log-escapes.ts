/** Escapes control and bidi characters in the lines of the log. Each line is a JSON object. */

/**
 * Characters that JSON.stringify does not escape: DEL, the C1 controls, marks that change the direction of text, and
 * line ends of some terminals and editors.
 */
const INVISIBLE = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
/** One escape sequence of JSON. */
const ESCAPES = /\\(?:u[0-9a-f]{4}|.)/gi;
/** The start of a line in a stack: a position in the code, or the stack of a cause. */
const STACK_LINE = /^(?: +at |caused by: )/;

/** Escapes the characters so that the JSON still stands for the same value. */
export function escapedInJson(line: string): string {
  return line.replace(INVISIBLE, escapeOf);
}

/**
 * Escapes once more for a terminal, because there the JSON is decoded before it is shown. The terminal then shows a
 * control character as text, such as `\u001b`. Only line breaks before the lines of a stack stay.
 */
export function escapedOnTerminal(line: string): string {
  const escaped = line.replace(ESCAPES, (sequence, at: number) =>
    sequence === '\\n' && STACK_LINE.test(line.slice(at + 2, at + 40)) ? sequence : shown(sequence),
  );
  return escaped.replace(INVISIBLE, (character) => `\\${escapeOf(character)}`);
}

/** Escapes an escape sequence once more if it stands for a control character. */
function shown(sequence: string): string {
  return /^\p{Cc}$/u.test(String(JSON.parse(`"${sequence}"`))) ? `\\${sequence}` : sequence;
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
