import type { Plugin } from 'graphql-yoga';
import { type Encoded, fileResponse, type Page } from '../../pages/static-page.js';

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
  let loading: Promise<Page> | undefined;
  return (pathname: string, wantsHtml: boolean): Promise<Encoded | undefined> | undefined => {
    const isDocument = pathname === path && wantsHtml;
    if (!isDocument && !pathname.startsWith(assets)) return undefined;
    loading ??= load().catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading.then((page) => (isDocument ? page.document : page.assets.get(pathname)));
  };
}
