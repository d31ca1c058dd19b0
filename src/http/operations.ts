import { isAskedByBody } from './query-method.js';

/** The beginning of a request, of node:http or of `fetch`. */
export interface RequestHead {
  /** GET for HEAD. */
  readonly method: string;
  /** The target: a path with its query string, or a whole address. */
  readonly url: string;
  readonly accept?: string | null | undefined;
}

/** The path of the target, without a host and a query string. */
export function pathIn(target: string): string {
  const path = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '');
  const end = path.indexOf('?');
  return end < 0 ? path : path.slice(0, end);
}

/**
 * Makes the check whether a request asks to execute an operation. A page, a file, a health check and a preflight request
 * do not: they wait for no turn, and no limit counts them.
 *
 * @param paths the paths of operations, such as that of the GraphQL endpoint
 * @param hasPlayground whether the endpoint answers browsers with a page
 */
export function createOperationCheck(
  paths: readonly string[],
  hasPlayground: boolean,
): (head: RequestHead) => boolean {
  return ({ method, url, accept }) => {
    if (!paths.includes(pathIn(url))) return false;
    if (isAskedByBody(method)) return true;
    return method === 'GET' && !(hasPlayground && accept?.includes('text/html'));
  };
}
