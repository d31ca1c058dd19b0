import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sendNodeResponse } from '@whatwg-node/server';
import type { Gateway } from './gateway.js';
import type { Logger } from './logger.js';

/** What {@link createGatewayServer} takes. */
export interface GatewayServerOptions {
  readonly gateway: Gateway;
  /** A body is read no further than this. */
  readonly maxBodyBytes: number;
  readonly log: Logger;
}

/** The HTTP server around a gateway. */
export interface GatewayServer {
  /**
   * Opens the port; 0 takes a free one.
   *
   * @returns the address to open, such as `http://127.0.0.1:4000`
   * @throws what `node:net` throws, such as EADDRINUSE
   */
  listen(host: string, port: number): Promise<string>;
  /**
   * Stops without losing a request: answers go on for `lameDuckMs`, each telling its client to use the
   * connection no more; then the port closes, and this resolves when the last request is answered.
   */
  drain(lameDuckMs: number): Promise<void>;
}

/** How long a client may take to send a request, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the idle limit of common load balancers, so that they close first and lose no request. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** How long a client whose body is refused may go on sending before it is cut off. */
const REFUSED_BODY_GRACE_MS = 2_000;

/** Makes the server; it opens no port before `listen`. */
export function createGatewayServer({ gateway, maxBodyBytes, log }: GatewayServerOptions): GatewayServer {
  let draining = false;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (draining) response.setHeader('connection', 'close');
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    const { body, bytesOverLimit } = await readBody(request, maxBodyBytes);
    if (bytesOverLimit !== undefined) dropRest(request, response);
    const url = new URL(request.url ?? '/', `http://${request.headers.host ?? 'localhost'}`);
    const answer = await gateway.fetch(
      new gateway.Request(url, {
        method: request.method ?? 'GET',
        headers: request.headers as Record<string, string>,
        body: body ?? null,
        signal: closed.signal,
      }),
      { bodyBytesOverLimit: bytesOverLimit },
    );
    await sendNodeResponse(answer, response, request, false);
  }

  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    handle(request, response).catch((err) => {
      // A client that went away in mid-request is no fault of ours.
      if (!request.destroyed) log.error({ err }, 'A request could not be answered');
      if (response.headersSent) response.destroy();
      else response.writeHead(400, { connection: 'close' }).end();
    });
  });
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;

  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve(`http://${hostInUrl(host)}:${(server.address() as AddressInfo).port}`);
        });
      }),
    async drain(lameDuckMs) {
      draining = true;
      await sleep(lameDuckMs);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      });
    },
  };
}

interface ReadBody {
  readonly body?: string;
  readonly bytesOverLimit?: number;
}

async function readBody(request: IncomingMessage, maxBodyBytes: number): Promise<ReadBody> {
  if (request.method === 'GET' || request.method === 'HEAD' || request.method === 'OPTIONS') return {};
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maxBodyBytes) return { bytesOverLimit: declared };
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    if (length > maxBodyBytes) return { bytesOverLimit: length };
    chunks.push(chunk);
  }
  return { body: Buffer.concat(chunks, length).toString('utf8') };
}

/** Lets the refusal reach a client that is still sending, and then cuts it off. */
function dropRest(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('connection', 'close');
  request.resume();
  const timer = setTimeout(() => request.destroy(), REFUSED_BODY_GRACE_MS);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}

function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
