import type { Steps } from '../scheduling/chunks.js';
import { END, type Line, MARK, writeLines } from './columns/lines.js';

/**
 * How well a word matches a text; lower is better. It is the first word of the text, or the start of the
 * first word; another word, or the start of one; or inside a word.
 */
export const MATCH = { firstWord: 0, start: 1, word: 2, wordStart: 3, inside: 4 } as const;

/** One of {@link MATCH}. */
export type Match = (typeof MATCH)[keyof typeof MATCH];

/** The texts that a word matches. Reused from one search to the next, so that a search allocates little. */
export interface Matches {
  /** By text, the best {@link Match}, or {@link NO_MATCH}. */
  readonly best: Uint8Array;
  /** The texts that match; not complete if there are more than fit. */
  readonly texts: Uint32Array;
  /** How many texts match. */
  count: number;
}

/** Exceeds every {@link Match}. */
export const NO_MATCH = 255;

/** @param maxListed how many texts are listed at most */
export function createMatches(textCount: number, maxListed: number): Matches {
  return { best: new Uint8Array(textCount), texts: new Uint32Array(maxListed), count: 0 };
}

/** Some of the texts of an index; their numbers follow those of the texts before them. */
export interface IndexedTexts {
  readonly count: number;
  /** The lines of the text with this number, from 0 to `count` - 1. */
  readonly linesOf: (text: number) => readonly Line[];
  /** Whether these are found by letters anywhere in their words, or only by those that a word starts with. */
  readonly isFoundInside: boolean;
}

/**
 * An inverted index: it finds parts of words in many texts. Texts are meant by their numbers. It holds typed arrays
 * only: all lines as code units, 3 bytes for each, and postings of 8 bytes for each letter (or each start of a word),
 * sorted by the group of 2 or 3 letters (a digram or trigram) that begins there.
 */
export interface TextIndex {
  /** Fills `matches` with the texts that contain these letters. */
  find(letters: string, matches: Matches): void;
}

/** Letters are grouped by classes of this many bits. */
const CLASS_BITS = 6;
/** Classes from 1 to this one are of one letter or digit each; others share a class, and are compared as well. */
const LAST_PLAIN_CLASS = 36;
/** Fewer letters than this are grouped by two: a table of 4,096 groups in place of 262,144. */
const MIN_FOR_TRIGRAMS = 20_000;
/** How many letters a step handles: about a millisecond. */
const STEP_LETTERS = 16_384;
/** A posting's text is shifted by the bits of a mark. */
const MARK_BITS = 3;
const MARK_OF_POSTING = 2 ** MARK_BITS - 1;

/** Indexes texts. */
export function* textIndexSteps(texts: readonly IndexedTexts[]): Steps<TextIndex> {
  const finders: Find[] = [];
  let first = 0;
  for (const some of texts) {
    finders.push(yield* finderSteps(some, first));
    first += some.count;
  }
  return {
    find(letters, matches) {
      matches.best.fill(NO_MATCH);
      matches.count = 0;
      if (letters === '') return;
      const wanted = Uint16Array.from({ length: letters.length }, (_, at) => letters.charCodeAt(at));
      for (const find of finders) find(wanted, matches);
    },
  };
}

/** Adds the texts that contain these letters. */
type Find = (wanted: Uint16Array, matches: Matches) => void;

/** @param first the number of the first of these texts in the whole index */
function* finderSteps({ count, linesOf, isFoundInside }: IndexedTexts, first: number): Steps<Find> {
  const { units, marks, starts } = yield* writeLines(count, linesOf);
  const groupLength = marks.length < MIN_FOR_TRIGRAMS ? 2 : 3;
  const isPosted = (mark: number) => mark !== MARK.end && (isFoundInside || mark !== MARK.none);
  const { groupStarts, positions, postings } = yield* groupLetters(
    units,
    marks,
    starts,
    groupLength,
    isPosted,
  );

  /** The rules of matching: what the letters from `start` to `end` are in their text. */
  function matchAt(mark: number, start: number, end: number): Match | typeof NO_MATCH {
    if (mark === MARK.none) return MATCH.inside;
    for (let at = start + 1; at < end; at++) {
      if (marks[at] !== MARK.wordStart) continue;
      // They span words, and so can only match the text written as one word.
      if (mark !== MARK.textStart) return NO_MATCH;
      return marks[end] === MARK.end ? MATCH.firstWord : MATCH.start;
    }
    const isWhole = marks[end] !== MARK.none && marks[end] !== MARK.partStart;
    if (mark === MARK.textStart) return isWhole ? MATCH.firstWord : MATCH.start;
    return isWhole ? MATCH.word : MATCH.wordStart;
  }

  /** The rarest group that is posted for these letters, as a part of `positions`, and how far from their start it is. */
  function rarestGroup(wanted: Uint16Array) {
    const width = Math.min(wanted.length, groupLength);
    const missingBits = CLASS_BITS * (groupLength - width);
    const lastOffset = isFoundInside ? wanted.length - width : 0;
    let rarest = { from: 0, to: Number.POSITIVE_INFINITY, offset: 0 };
    for (let offset = 0; offset <= lastOffset; offset++) {
      let group = 0;
      for (let at = offset; at < offset + width; at++)
        group = (group << CLASS_BITS) | classOf(wanted[at] ?? 0);
      const from = groupStarts[group << missingBits] ?? 0;
      const to = groupStarts[(group + 1) << missingBits] ?? 0;
      if (to - from < rarest.to - rarest.from) rarest = { from, to, offset };
    }
    return rarest;
  }

  return (wanted, matches) => {
    const { best, texts } = matches;
    const { from, to, offset } = rarestGroup(wanted);
    const isGroup = wanted.length <= groupLength && wanted.every((unit) => classOf(unit) <= LAST_PLAIN_CLASS);
    let found = matches.count;
    for (let index = from; index < to; index++) {
      const start = (positions[index] ?? 0) - offset;
      if (!isGroup && !isAt(start, wanted, units)) continue;
      const posting = postings[index] ?? 0;
      const mark = offset === 0 ? posting & MARK_OF_POSTING : (marks[start] ?? 0);
      const match = matchAt(mark, start, start + wanted.length);
      const text = first + (posting >>> MARK_BITS);
      const before = best[text] ?? 0;
      if (match >= before) continue;
      best[text] = match;
      if (before !== NO_MATCH) continue;
      if (found < texts.length) texts[found] = text;
      found++;
    }
    matches.count = found;
  };
}

/** From the last letter to the first: the first letters are mostly those of the group, and so equal. */
function isAt(start: number, wanted: Uint16Array, units: Uint16Array): boolean {
  for (let at = wanted.length - 1; at >= 0; at--) if (units[start + at] !== wanted[at]) return false;
  return true;
}

function classOf(unit: number): number {
  if (unit >= 97 && unit <= 122) return unit - 96;
  if (unit >= 48 && unit <= 57) return unit - 21;
  return unit === END ? 0 : LAST_PLAIN_CLASS + 1 + (unit % 27);
}

/**
 * Counting-sorts the positions to be posted by the group of letters that begins there, each with a posting: its text
 * and its mark.
 */
function* groupLetters(
  units: Uint16Array,
  marks: Uint8Array,
  starts: Uint32Array,
  groupLength: number,
  isPosted: (mark: number) => boolean,
) {
  const groupStarts = new Uint32Array(2 ** (CLASS_BITS * groupLength) + 1);
  const mask = 2 ** (CLASS_BITS * groupLength) - 1;
  const total = units.length;
  /** The group that begins at each position of one step. */
  const groups = new Uint32Array(STEP_LETTERS);

  function readGroups(from: number, to: number): void {
    let group = 0;
    for (let ahead = from; ahead < to + groupLength - 1; ahead++) {
      group = ((group << CLASS_BITS) | classOf(units[ahead] ?? END)) & mask;
      const position = ahead - groupLength + 1;
      if (position >= from) groups[position - from] = group;
    }
  }

  for (let from = 0; from < total; from += STEP_LETTERS) {
    const to = Math.min(from + STEP_LETTERS, total);
    readGroups(from, to);
    for (let position = from; position < to; position++) {
      if (!isPosted(marks[position] ?? 0)) continue;
      const group = groups[position - from] ?? 0;
      groupStarts[group] = (groupStarts[group] ?? 0) + 1;
    }
    yield;
  }
  let posted = 0;
  for (let group = 0; group < groupStarts.length; group++) {
    posted += groupStarts[group] ?? 0;
    groupStarts[group] = posted;
  }
  yield;
  const positions = new Uint32Array(posted);
  const postings = new Uint32Array(posted);
  let text = starts.length - 1;
  // From the last to the first, so that each group's end moves to its start, and its positions ascend.
  for (let to = total; to > 0; to -= STEP_LETTERS) {
    const from = Math.max(to - STEP_LETTERS, 0);
    readGroups(from, to);
    for (let position = to - 1; position >= from; position--) {
      const mark = marks[position] ?? 0;
      if (!isPosted(mark)) continue;
      while ((starts[text] ?? 0) > position) text--;
      const group = groups[position - from] ?? 0;
      const index = (groupStarts[group] ?? 0) - 1;
      groupStarts[group] = index;
      positions[index] = position;
      postings[index] = (text << MARK_BITS) | mark;
    }
    yield;
  }
  return { groupStarts, positions, postings };
}
