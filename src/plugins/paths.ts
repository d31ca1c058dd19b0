import type { Plugin } from 'graphql-yoga';
import { refusalResponse } from '../http/refusal.js';
import { type Encoded, fileResponse, type Page } from '../pages/static-page.js';

/** A response that is made without GraphQL. */
interface PlainResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

/** Answers requests without GraphQL. @param answer returns undefined for requests that are not its own */
export function useAnswers(
  answer: (request: Request, url: URL) => PlainResponse | Promise<PlainResponse> | undefined,
): Plugin {
  return {
    // Not async: every other request passes through here, too.
    onRequest({ request, url, endResponse, fetchAPI }) {
      const given = answer(request, url);
      if (!given) return undefined;
      const respond = ({ status, headers, body }: PlainResponse) =>
        endResponse(new fetchAPI.Response(body, { status, headers: { ...headers } }));
      return given instanceof Promise ? given.then(respond) : respond(given);
    },
  };
}

/** A page and where it is served. */
export interface ServedPage {
  /** The path of its document, which is only sent to clients that accept HTML. */
  readonly path: string;
  /** The prefix of the paths of its assets. */
  readonly assets: string;
  /** Called at the first request: most processes never need the page. */
  readonly load: () => Promise<Page>;
}

/** Serves pages for browsers and their assets, compressed once and with caching headers. */
export function usePages(pages: readonly ServedPage[]): Plugin {
  const finders = pages.map(createFinder);
  return {
    // Not async: every other request passes through here, too.
    onRequest({ request, url, endResponse, fetchAPI }) {
      if (request.method !== 'GET') return undefined;
      const wantsHtml = (request.headers.get('accept') ?? '').includes('text/html');
      const finding = finders.map((find) => find(url.pathname, wantsHtml)).find(Boolean);
      return finding?.then(async (encoded) => {
        if (!encoded) return;
        endResponse(await fileResponse(encoded, request, fetchAPI));
      });
    },
  };
}

/** Finds the files of a page. For other paths it returns undefined, not a promise, and does not load the page. */
function createFinder({ path, assets, load }: ServedPage) {
  const loaded = once(load);
  return (pathname: string, wantsHtml: boolean): Promise<Encoded | undefined> | undefined => {
    const isDocument = pathname === path && wantsHtml;
    if (!isDocument && !pathname.startsWith(assets)) return undefined;
    return loaded().then((page) => (isDocument ? page.document : page.assets.get(pathname)));
  };
}

/** Makes something at the first call, and again after a failure. */
function once<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let making: Promise<Made> | undefined;
  return () => {
    making ??= make().catch((error) => {
      making = undefined;
      throw error;
    });
    return making;
  };
}

/** Serves single files, each at one path. @param files make the file at the first request, by path */
export function useFiles(files: ReadonlyMap<string, () => Promise<Encoded>>): Plugin {
  const loaders = new Map([...files].map(([path, make]) => [path, once(make)]));
  return {
    // Not async: every other request passes through here, too.
    onRequest({ request, url, endResponse, fetchAPI }) {
      const load = loaders.get(url.pathname);
      if (!load) return undefined;
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const message = `Expected GET or HEAD, got ${request.method}.`;
        const headers = { allow: 'GET, HEAD, OPTIONS' };
        endResponse(refusalResponse({ status: 405, message, headers }, fetchAPI));
        return undefined;
      }
      return load()
        .then((file) => fileResponse(file, request, fetchAPI))
        .then(endResponse);
    },
  };
}

/**
 * Answers all other paths with 404 and a list of these.
 *
 * @param pages paths of pages: a browser was answered before this, and other clients get a 404
 */
export function useNotFound(paths: readonly string[], pages: readonly string[]): Plugin {
  const listed = [...pages.map((page) => `${page} (in a browser)`), ...paths].join(', ');
  return {
    onRequest({ url, endResponse, fetchAPI }) {
      if (paths.includes(url.pathname)) return;
      const message = `Nothing is here. Expected one of: ${listed}.`;
      // Browsers can get a page at the same address.
      endResponse(refusalResponse({ status: 404, message, headers: { vary: 'Accept' } }, fetchAPI));
    },
  };
}
