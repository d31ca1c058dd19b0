/** Starts a proxy in front of a subgraph, which records the GraphQL requests to it. */
import { startAround } from '../../support/open-gateway.js';
import type { AtEnd } from '../../support/server-process.js';

export type CountingProxy = Awaited<ReturnType<typeof startCountingProxy>>;

/** A GraphQL request that passed through the proxy. */
export interface PassedRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** A proxy in front of a subgraph. It records the POST requests to the subgraph. */
export async function startCountingProxy(target: string, atEnd: AtEnd) {
  let passed: PassedRequest[] = [];
  const url = await startAround(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.method === 'POST') passed.push(JSON.parse(body) as PassedRequest);
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: {
        'content-type': 'application/json',
        accept: request.headers.accept ?? '*/*',
        'x-forwarded-for': String(request.headers['x-forwarded-for'] ?? ''),
      },
      ...(request.method === 'POST' && { body }),
    });
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type') ?? 'application/json',
    });
    response.end(Buffer.from(await answer.arrayBuffer()));
  }, atEnd);
  return {
    url,
    /** The requests since the last call. */
    passed() {
      const since = passed;
      passed = [];
      return since;
    },
  };
}
