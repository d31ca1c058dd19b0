/** A gateway behind its real HTTP server, with its cache of responses and a count of executed operations. */
import { onTestFinished } from 'vitest';
import type { ClientLimit } from '../../src/scheduling/client-limit.js';
import { createGatewayServer } from '../../src/server/server.js';
import { demoChains } from '../fixtures/demo.js';
import { share } from './ends.js';
import { json } from './fake-upstream.js';
import { hasZstd, plainOf, type Received, sendHttp } from './send-http.js';
import {
  createTestGateway,
  createTestLog,
  defaultConfig,
  type TestGateway,
  type TestOptions,
} from './test-gateway.js';

export { hasZstd, plainOf, type Received };

/** A request to `/graphql`. A part that is absent gets its usual value. */
export interface Asked {
  readonly query?: string;
  readonly variables?: object;
  readonly operationName?: string;
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string;
  readonly path?: string;
}

export interface TestServerOptions extends TestOptions {
  readonly clientLimit?: ClientLimit;
  /** The size of the response cache in bytes. With 1, nothing is cached. */
  readonly maxCacheBytes?: number;
}

export type TestServer = Awaited<ReturnType<typeof startServer>>;

/** With these settings no listing becomes stale during a test. */
export const FRESH = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };
/** With these settings each refresh is accepted at once, whatever has changed. Refreshes run only on request. */
export const UNGUARDED = { ...FRESH, holdBackTimes: 1, holdBackMs: 0 };

export const shareServer = (options: () => TestServerOptions | Promise<TestServerOptions>): TestServer =>
  share(async (atEnd) => startServer({ ...(await options()), atEnd }));

export async function startServer(options: TestServerOptions = {}) {
  const gateway = await createTestGateway(options);
  const { log, logged } = await createTestLog();
  let executions = 0;
  const server = createGatewayServer({
    gateway: {
      ...gateway.gateway,
      respond(request, facts) {
        executions++;
        const answerInTurn: typeof request.answerInTurn = (parameters) => {
          const isAnswered = request.answerInTurn?.(parameters) ?? false;
          if (isAnswered) executions--;
          return isAnswered;
        };
        return gateway.gateway.respond({ ...request, answerInTurn }, facts);
      },
    },
    checkDependencies: gateway.checkDependencies,
    ...defaultConfig(),
    ...options.config,
    clientLimit: options.clientLimit,
    ...(options.maxCacheBytes ? { maxCacheBytes: options.maxCacheBytes } : {}),
    metrics: gateway.metrics,
    log,
  });
  const address = await server.listen('127.0.0.1', 0);
  const { atEnd = onTestFinished } = options;
  atEnd(() => server.drain(0, 100));

  async function ask(asked: Asked): Promise<Received> {
    const { query, variables, operationName, method = 'POST', headers } = asked;
    const path = asked.path ?? (method === 'POST' ? '/graphql' : pathOf(asked));
    const posted = method === 'POST' ? JSON.stringify({ query, variables, operationName }) : undefined;
    const sent = asked.body ?? posted;
    const type = sent === undefined ? {} : { 'content-type': 'application/json' };
    return sendHttp(`${address}${path}`, { method, headers: { ...type, ...headers }, body: sent });
  }
  return {
    ...gateway,
    address,
    ask,
    async countExecuted(...requests: Asked[]) {
      const before = executions;
      const bodies: string[] = [];
      for (const each of requests) bodies.push((await ask(each)).body.toString());
      return { count: executions - before, bodies };
    },
    executed: () => executions,
    serverLog: logged,
  };
}

export function pathOf({ query, variables, operationName }: Asked): string {
  const parameters = new URLSearchParams({ query: query ?? '' });
  if (variables) parameters.set('variables', JSON.stringify(variables));
  if (operationName !== undefined) parameters.set('operationName', operationName);
  return `/graphql?${parameters}`;
}

export async function refreshWith(
  gateway: Pick<TestGateway, 'refresh' | 'upstream'>,
  tokens: readonly unknown[],
  chains: readonly unknown[] = demoChains,
): Promise<void> {
  gateway.upstream.plan('tokens', json({ tokens }));
  gateway.upstream.plan('chains', json({ chains }));
  await gateway.refresh();
}
