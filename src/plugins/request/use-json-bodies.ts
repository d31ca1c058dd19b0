import type { Plugin } from 'graphql-yoga';

/**
 * Reads JSON bodies by a real promise. GraphQL Yoga takes a body with a member `then` for a promise otherwise, and
 * answers 500.
 */
export function useJsonBodies(): Plugin {
  return {
    onRequestParse({ requestParser, setRequestParser }) {
      if (!requestParser) return;
      setRequestParser((request) => {
        const json = async (): Promise<unknown> => JSON.parse(await request.text());
        Object.defineProperty(request, 'json', { value: json, configurable: true });
        return requestParser(request);
      });
    },
  };
}
