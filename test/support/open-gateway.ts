/** A gateway as the library opens it, and a server around its handler. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { FIXED_LIMITS } from '../../src/config/config.js';
import { type OpenGatewayOptions, openGateway } from '../../src/library/index.js';
import type { AtEnd } from './ends.js';
import type { FakeUpstream } from './fake-upstream.js';

export const AT = 'http://gateway/api/graphql';

/** On busy machines operations wait long for their turns. */
const OF_TESTS = { maxWaitMs: 600_000 };

/** Opens a gateway with other fixed limits, then resets them: `openGateway` reads them before its first `await`. */
export function openLimited(
  options: OpenGatewayOptions = {},
  limits: Partial<typeof FIXED_LIMITS> = {},
): ReturnType<typeof openGateway> {
  const fixed = { ...FIXED_LIMITS };
  Object.assign(FIXED_LIMITS, OF_TESTS, limits);
  const opening = openGateway(options);
  Object.assign(FIXED_LIMITS, fixed);
  return opening;
}

/** Opens a gateway as a host server would, with demo data unless there is an upstream. The test's end closes it. */
export async function open(
  options: OpenGatewayOptions = {},
  upstream?: FakeUpstream,
  limits: Partial<typeof FIXED_LIMITS> = {},
) {
  const lines: string[] = [];
  const settings = {
    basePath: '/api',
    ...(upstream ? { upstreamUrl: upstream.url } : options.upstreamUrl === undefined ? { demo: true } : {}),
    logTo: { write: (line: string) => lines.push(line) },
    ...options,
  };
  const gateway = await openLimited(settings, limits);
  onTestFinished(gateway.close);
  return { ...gateway, lines };
}

export async function startAround(handler: RequestListener, atEnd: AtEnd = onTestFinished): Promise<string> {
  const server = createServer(handler);
  atEnd(async () => {
    server.close();
    server.closeAllConnections();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export function post(asked: string | object, { headers, ...init }: RequestInit = {}): Request {
  const body = JSON.stringify(typeof asked === 'string' ? { query: asked } : asked);
  const all = { 'content-type': 'application/json', ...(headers as Record<string, string>) };
  return new Request(AT, { method: 'POST', headers: all, body, ...init });
}
