/** Plugins that respond to requests without GraphQL. */
import type { Plugin } from 'graphql-yoga';
import { type PlainResponse, plainRefusal } from '../http/refusal.js';
import { fileResponse, type Page, type StaticFile } from '../pages/static-page.js';

/** Responds to a request. A HEAD request arrives as GET. Returns undefined for a path that it does not serve. */
export type PathAnswer<Context = unknown> = (
  request: Request,
  url: URL,
  context: Context,
) => PlainResponse | Promise<PlainResponse> | undefined;

/**
 * Responds to requests without GraphQL. For unknown paths it responds with 404 and a list of the known ones.
 *
 * @param pages called in their order; the first response is sent
 * @param answers by path
 * @param path the path of the GraphQL endpoint, to which later plugins respond
 * @param picker the path of the token picker, which only browsers get; other clients get a 404
 */
export function usePaths<Context extends object>(
  pages: readonly PathAnswer[],
  answers: ReadonlyMap<string, PathAnswer<Context>>,
  path: string,
  picker: string | undefined,
): Plugin<object, Context> {
  const listed = [...(picker ? [`${picker} (in a browser)`] : []), path, ...answers.keys()];
  const notFound = plainRefusal({
    status: 404,
    message: `Nothing is here. Expected one of: ${listed.join(', ')}.`,
    // At the same address a browser can get a page, so the response varies by Accept.
    headers: { vary: 'Accept' },
  });
  return {
    // Not async: requests for GraphQL run this function, too, and should not have to wait for a promise.
    onRequest({ request, url, endResponse, fetchAPI, serverContext }) {
      const respond = ({ status, headers, body }: PlainResponse = notFound) =>
        endResponse(new fetchAPI.Response(body, { status, headers: { ...headers } }));
      const answer = answers.get(url.pathname);
      for (const each of answer ? [answer] : pages) {
        const given = each(request, url, serverContext);
        if (given) return given instanceof Promise ? given.then(respond) : respond(given);
      }
      return url.pathname === path ? undefined : respond();
    },
  };
}

/** Turns compression off by hiding Accept-Encoding from Yoga. The server in front still has it, and can compress. */
export function useUncompressed(): Plugin {
  return { onRequest: ({ request }) => request.headers.delete('accept-encoding') };
}

/**
 * Serves a page for browsers and its assets, compressed once and with caching headers.
 *
 * @param paths the paths of its document, which is only sent to clients that accept HTML
 * @param assets the prefix of the paths of its assets
 * @param load called at the first request: most processes never need the page
 */
export function servePage(paths: readonly string[], assets: string, load: () => Page): PathAnswer {
  let page: Page | undefined;
  return (request, { pathname }) => {
    const wantsHtml = request.headers.get('accept')?.includes('text/html');
    const isDocument = paths.includes(pathname) && wantsHtml === true;
    if (request.method !== 'GET' || !(isDocument || pathname.startsWith(assets))) return undefined;
    page ??= load();
    const file = isDocument ? page.document : page.assets.get(pathname);
    return file && fileResponse(file, request);
  };
}

/** Serves one file. @param make called at the first request */
export function serveFile(make: () => StaticFile): PathAnswer {
  let file: StaticFile | undefined;
  return forGet((request) => {
    file ??= make();
    return fileResponse(file, request);
  });
}

/** Refuses other methods than GET and HEAD. */
export function forGet(answer: PathAnswer): PathAnswer {
  return (request, url, context) => {
    if (request.method === 'GET') return answer(request, url, context);
    const message = `Expected GET or HEAD, got ${request.method}.`;
    return plainRefusal({ status: 405, message, headers: { allow: 'GET, HEAD, OPTIONS' } });
  };
}
