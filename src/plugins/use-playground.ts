import type { Plugin } from 'graphql-yoga';
import type { Playground } from '../playground/playground.js';

/** What {@link usePlayground} takes. */
export interface PlaygroundPluginOptions {
  /** The GraphQL endpoint, which browsers that ask it for HTML get the playground from. */
  readonly endpoint: string;
  /** Loads the playground when it is first asked for: most processes never need it. */
  readonly load: () => Promise<Playground>;
}

/** Serves the playground's page and assets, all from here, compressed once and cacheable. */
export function usePlayground({ endpoint, load }: PlaygroundPluginOptions): Plugin {
  let loading: Promise<Playground> | undefined;
  return {
    async onRequest({ request, url, endResponse, fetchAPI }) {
      const { pathname } = url;
      const isPage = pathname === endpoint && (request.headers.get('accept') ?? '').includes('text/html');
      if (request.method !== 'GET' || !(isPage || pathname.startsWith('/playground/'))) return;
      loading ??= load().catch((error) => {
        loading = undefined;
        throw error;
      });
      const playground = await loading;
      const encodings = request.headers.get('accept-encoding') ?? '';
      const file = await (isPage ? playground.page(encodings) : playground.asset(pathname, encodings));
      if (!file) return;
      const unchanged = hasTag(request.headers.get('if-none-match'), file.headers.etag);
      endResponse(
        new fetchAPI.Response(unchanged ? null : file.body, {
          status: unchanged ? 304 : 200,
          headers: file.headers,
        }),
      );
    },
  };
}

/** Compares weakly: a proxy may have weakened the tag on its way to the browser. */
function hasTag(ifNoneMatch: string | null, etag: string): boolean {
  return (ifNoneMatch ?? '').split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
