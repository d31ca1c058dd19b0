import { type Random, times } from './random.js';
import { ODD_NAMES, oddText } from './values.js';

/** Whole strings, names, numbers and spreads; whatever else comes as single signs. */
const TOKENS = /"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\.\.\.|[$@]?\w+|[^\s,]/g;

/** The parts that a document can be taken apart into. */
export function tokensOf(document: string): string[] {
  return document.match(TOKENS) ?? [];
}

/** A document with some of its tokens gone, doubled, moved or exchanged for others. */
export function mutated(random: Random, document: string, other: string): string {
  let tokens = tokensOf(document);
  for (const _ of times(random.size(4), () => 0)) tokens = mutate(random, tokens, other);
  return tokens.join(' ');
}

function mutate(random: Random, tokens: string[], other: string): string[] {
  const at = random.int(tokens.length + 1);
  const length = random.size(6);
  const [before, part, after] = [
    tokens.slice(0, at),
    tokens.slice(at, at + length),
    tokens.slice(at + length),
  ];
  return random.weighted<() => string[]>([
    [3, () => [...before, ...after]],
    [3, () => [...before, ...part, ...part, ...after]],
    [1, () => [...before, ...times(random.size(200), () => part).flat(), ...after]],
    [2, () => [...after, ...part, ...before]],
    [2, () => [...before, ...after.slice(0, length), ...part, ...after.slice(length)]],
    [3, () => [...before, ...splice(random, tokensOf(other)), ...after]],
    [3, () => [...before, oddToken(random), ...part.slice(1), ...after]],
    [2, () => [...before, oddToken(random), ...part, ...after]],
    [1, () => before],
  ])();
}

function splice(random: Random, tokens: readonly string[]): readonly string[] {
  const from = random.int(tokens.length + 1);
  return tokens.slice(from, from + random.size(60));
}

function oddToken(random: Random): string {
  return random.weighted<() => string>([
    [3, () => random.pick(ODD_NAMES)],
    [3, () => random.pick(['{', '}', '(', ')', '[', ']', '...', ':', '!', '=', '@include', '$v0', '|', '&'])],
    [2, () => JSON.stringify(oddText(random, 200))],
    [
      2,
      () =>
        random.pick([
          '0',
          '-1',
          '1e999',
          '2147483648',
          'null',
          'true',
          'Token',
          'Chain',
          'query',
          'fragment',
        ]),
    ],
    [1, () => `"""${oddText(random, 100)}"""`],
  ])();
}
