import type { Plugin } from 'graphql-yoga';

/** Longer messages of errors are cut. */
const MAX_LENGTH = 2_000;
/** How much of the beginning and of the end is left: the end often says what was expected. */
const HALF = 900;

/**
 * Cuts messages of errors that repeat long texts of the client. GraphQL repeats names and values whole, and the same one
 * in each of several errors.
 */
export function useShortMessages(): Plugin {
  return {
    onResultProcess({ result }) {
      if (Symbol.asyncIterator in result) return;
      for (const each of Array.isArray(result) ? result : [result]) {
        for (const error of each.errors ?? []) {
          const { message } = error;
          if (message.length > MAX_LENGTH) error.message = shortened(message);
        }
      }
    },
  };
}

function shortened(message: string): string {
  const left = `${message.length - 2 * HALF} characters left out`;
  return `${message.slice(0, HALF)} … (${left}) … ${message.slice(-HALF)}`;
}
