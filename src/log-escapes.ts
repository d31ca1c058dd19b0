/**
 * What JSON does not escape by itself: DEL and the C1 controls, marks that set the direction of writing, and
 * what ends a line for some terminals and editors.
 */
const UNSEEN = /[\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
/** The stack of an error as JSON writes it; or one escape sequence, whose backslash is escaped by no other. */
const STACKS_AND_ESCAPES = /"stack":"((?:[^"\\]|\\.)*)"|\\(?:u[0-9a-f]{4}|.)/gi;
const ESCAPES = /\\(?:u[0-9a-f]{4}|.)/gi;
/** What follows the end of a line in a stack: a place in the code, or the stack of a cause. */
const STACK_LINE = /^(?: +at |caused by: )/;

/**
 * Escapes the control and bidi characters in a line of JSON, which means the same afterwards.
 *
 * @param line JSON on one line
 */
export function escapedInJson(line: string): string {
  return line.replace(UNSEEN, escapeOf);
}

/**
 * Escapes the control and bidi characters in a line of JSON whose texts are about to be shown on a terminal:
 * there they are seen as `\u001b`, as JSON writes them. The lines of a stack stay lines.
 *
 * @param line JSON on one line
 */
export function escapedOnTerminal(line: string): string {
  const withStacks = line.replace(STACKS_AND_ESCAPES, (found: string, stack: string | undefined) =>
    stack === undefined ? shown(found) : `"stack":"${shownStack(stack)}"`,
  );
  return withStacks.replace(UNSEEN, (character) => `\\${escapeOf(character)}`);
}

/** An escape sequence, or where it stands for a control character, one that stands for the sequence itself. */
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
