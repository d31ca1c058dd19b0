import type { Plugin } from 'graphql-yoga';
import { TOKEN_LIST_PATH } from '../../http/paths.js';
import type { TokenListAnswer } from '../../token-list/answer.js';

/** Answers requests for token lists. */
export function useTokenList(answer: TokenListAnswer): Plugin {
  return {
    // Not async: every other request passes through here, too.
    onRequest({ request, url, endResponse, fetchAPI }) {
      if (url.pathname !== TOKEN_LIST_PATH) return undefined;
      return answer(request, url.searchParams).then(({ status, headers, body }) =>
        endResponse(new fetchAPI.Response(body, { status, headers: { ...headers } })),
      );
    },
  };
}
