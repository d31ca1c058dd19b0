import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A GraphQL request that passed through. */
export interface PassedRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

export interface CountingProxy {
  readonly url: string;
  /** The requests since the last call. */
  passed(): readonly PassedRequest[];
  close(): Promise<void>;
}

/** A proxy in front of a subgraph that records its requests. */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  let passed: PassedRequest[] = [];
  const server = createServer(async (request, response) => {
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
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    passed() {
      const since = passed;
      passed = [];
      return since;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
