import type { Plugin } from 'graphql-yoga';
import { refusalResponse } from '../../http/refusal.js';
import { type Encoded, fileResponse } from '../../pages/static-page.js';

/** Serves single files, each at one path. @param files make the file at the first request, by path */
export function useFiles(files: ReadonlyMap<string, () => Promise<Encoded>>): Plugin {
  const loading = new Map<string, Promise<Encoded>>();

  function load(path: string, make: () => Promise<Encoded>): Promise<Encoded> {
    const known = loading.get(path);
    if (known) return known;
    const file = make().catch((error) => {
      loading.delete(path);
      throw error;
    });
    loading.set(path, file);
    return file;
  }

  return {
    // Not async: every other request passes through here, too.
    onRequest({ request, url, endResponse, fetchAPI }) {
      const make = files.get(url.pathname);
      if (!make) return undefined;
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const message = `Expected GET or HEAD, got ${request.method}.`;
        endResponse(
          refusalResponse({ status: 405, message, headers: { allow: 'GET, HEAD, OPTIONS' } }, fetchAPI),
        );
        return undefined;
      }
      return load(url.pathname, make)
        .then((file) => fileResponse(file, request, fetchAPI))
        .then(endResponse);
    },
  };
}
