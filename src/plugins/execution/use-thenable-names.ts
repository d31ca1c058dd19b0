import { type DocumentNode, execute } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/**
 * Executes documents that name a field `then` with graphql-js. GraphQL Yoga's own executor, which is a little
 * faster, takes an object with any member of this name for a promise.
 */
export function useThenableNames(): Plugin {
  return {
    onExecute({ args, setExecuteFn }) {
      if (mayNameThen(args.document)) setExecuteFn(execute);
    },
  };
}

/** The text may hold the word elsewhere, too: then graphql-js gives the same answer. */
function mayNameThen({ loc }: DocumentNode): boolean {
  return loc === undefined || /\bthen\b/.test(loc.source.body);
}
