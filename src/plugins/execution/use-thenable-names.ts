import { execute } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/**
 * Executes documents that name a field `then` with graphql-js. GraphQL Yoga's own executor, which is a little
 * faster, takes an object with any member of this name for a promise.
 */
export function useThenableNames(): Plugin {
  return {
    onExecute({ args, setExecuteFn }) {
      const text = args.document.loc?.source.body;
      // The word may also stand elsewhere in the text: graphql-js gives the same result then.
      if (text === undefined || /\bthen\b/.test(text)) setExecuteFn(execute);
    },
  };
}
