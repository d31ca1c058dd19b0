/** Escapes control characters in lines of the log. */
/**
 * Characters that JSON.stringify does not escape: DEL, the C1 controls, marks that change the direction of text, and
 * line ends of some terminals and editors.
 */
const INVISIBLE = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const HAS_INVISIBLE = new RegExp(INVISIBLE.source);
/** Matches the stack of an error in JSON, or one escape sequence. */
const STACKS_AND_ESCAPES = /"stack":"((?:[^"\\]|\\.)*)"|\\(?:u[0-9a-f]{4}|.)/gi;
const ESCAPES = /\\(?:u[0-9a-f]{4}|.)/gi;
/** Matches the start of a line in a stack: a position in the code, or the stack of a cause. */
const STACK_LINE = /^(?: +at |caused by: )/;

/**
 * Escapes the control and bidi characters in a line of JSON. The JSON still stands for the same value.
 *
 * @param line JSON on one line
 */
export function escapedInJson(line: string): string {
  // Few lines have such a character, and `test` is cheaper than a `replace` that finds nothing.
  return HAS_INVISIBLE.test(line) ? line.replace(INVISIBLE, escapeOf) : line;
}

/**
 * Escapes the control and bidi characters in a line of JSON whose decoded texts go to a terminal, so that the terminal
 * shows each of them as text, such as `\u001b`. The line breaks of a stack stay.
 *
 * @param line JSON on one line
 */
export function escapedOnTerminal(line: string): string {
  const withStacks = line.replace(STACKS_AND_ESCAPES, (found: string, stack: string | undefined) =>
    stack === undefined ? shown(found) : `"stack":"${shownStack(stack)}"`,
  );
  return withStacks.replace(INVISIBLE, (character) => `\\${escapeOf(character)}`);
}

/** Escapes an escape sequence once more if it stands for a control character. */
function shown(sequence: string): string {
  return isControl(sequence) ? `\\${sequence}` : sequence;
}

function shownStack(stack: string): string {
  return stack.replace(ESCAPES, (sequence, at: number) =>
    sequence === '\\n' && STACK_LINE.test(stack.slice(at + 2, at + 40)) ? sequence : shown(sequence),
  );
}

function isControl(sequence: string): boolean {
  const character: unknown = JSON.parse(`"${sequence}"`);
  return typeof character === 'string' && /^\p{Cc}$/u.test(character);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
