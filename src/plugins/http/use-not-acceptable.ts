import type { Plugin } from 'graphql-yoga';

/** Names each type that could be accepted once. GraphQL Yoga repeats all of them for each type in the Accept header. */
export function useNotAcceptable(): Plugin {
  return {
    onResponse({ response: { status, headers } }) {
      const types = status === 406 ? headers.get('accept') : null;
      if (types !== null) headers.set('accept', [...new Set(types.split(', '))].join(', '));
    },
  };
}
