import type { Plugin } from 'graphql-yoga';
import { hasTag } from '../../http/etags.js';
import type { Encoded, Page } from '../../pages/static-page.js';

/** A page and where it is served. */
export interface ServedPage {
  /** The path from which browsers that ask for HTML get its document. */
  readonly path: string;
  /** What the paths of its assets begin with. */
  readonly assets: string;
  /** Loads it when it is first asked for: most processes never need it. */
  readonly load: () => Promise<Page>;
}

/** Serves pages for browsers with their assets, all from here, compressed once and cacheable. */
export function usePages(pages: readonly ServedPage[]): Plugin {
  const finders = pages.map(createFinder);
  return {
    // Not async, since every other request passes here, too.
    onRequest({ request, url, endResponse, fetchAPI }) {
      if (request.method !== 'GET') return undefined;
      const wantsHtml = (request.headers.get('accept') ?? '').includes('text/html');
      const finding = finders.map((find) => find(url.pathname, wantsHtml)).find(Boolean);
      return finding?.then(async (encoded) => {
        if (!encoded) return;
        const file = await encoded(request.headers.get('accept-encoding') ?? '');
        const unchanged = hasTag(request.headers.get('if-none-match'), file.headers.etag);
        endResponse(
          new fetchAPI.Response(unchanged ? null : file.body, {
            status: unchanged ? 304 : 200,
            headers: file.headers,
          }),
        );
      });
    },
  };
}

/** Finds the files of a page; what is no path of it is no promise, either, and loads nothing. */
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
