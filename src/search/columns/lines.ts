const STEP_TEXTS = 256;

/** One way to write a text. */
export interface Line {
  /** Folded and without spaces; each in its parts. Letters are also found from the start of a part on. */
  readonly words: readonly (readonly string[])[];
  /** Whether the line is also found by letters that span words, as if it were written as one word. */
  readonly isJoined: boolean;
}

/** Ends each line, and each word of a line that is not joined. No word contains it. */
export const END = 10;
/** The role of each code unit. */
export const MARK = { none: 0, wordStart: 1, textStart: 2, end: 3, partStart: 4 } as const;

/** Writes all lines into one array, with the role of each code unit, and where each text starts. */
export function* writeLines(count: number, linesOf: (text: number) => readonly Line[]) {
  const starts = new Uint32Array(count + 1);
  let units = new Uint16Array(1024);
  let marks = new Uint8Array(1024);
  let total = 0;

  function makeRoom(length: number): void {
    if (total + length <= marks.length) return;
    const size = Math.max(2 * marks.length, total + length);
    const before = { units, marks };
    units = new Uint16Array(size);
    marks = new Uint8Array(size);
    units.set(before.units);
    marks.set(before.marks);
  }

  function writeEnd(): void {
    units[total] = END;
    marks[total++] = MARK.end;
  }

  function writeLine({ words, isJoined }: Line): void {
    for (const [nth, parts] of words.entries()) {
      let mark: number = nth === 0 ? MARK.textStart : MARK.wordStart;
      for (const part of parts) {
        makeRoom(part.length + 1);
        marks[total] = mark;
        mark = MARK.partStart;
        for (let at = 0; at < part.length; at++) units[total++] = part.charCodeAt(at);
      }
      if (!isJoined || nth === words.length - 1) writeEnd();
    }
  }

  for (let text = 0; text < count; text++) {
    starts[text] = total;
    for (const line of linesOf(text)) writeLine(line);
    if (text % STEP_TEXTS === 0) yield;
  }
  starts[count] = total;
  return { units: units.slice(0, total), marks: marks.slice(0, total), starts };
}
