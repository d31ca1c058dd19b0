/** The entry point of the package: opens a gateway inside another server. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { assemble } from '../assemble.js';
import { secretsOf, servesDemo } from '../config/config.js';
import { DEMO_LABEL } from '../demo/listings.js';
import { createClientFinder } from '../http/client-address.js';
import { createLogger } from '../logger/logger.js';
import { createMetrics } from '../observability/metrics.js';
import { MAX_UNANSWERED_REQUEST_BYTES, type ReadBody, readBody } from '../server/bodies.js';
import { createByteBudget } from '../server/byte-budget.js';
import { Connection } from '../server/connections.js';
import { NodeExchange, type NodeRequest } from '../server/exchange.js';
import { createRequestObserver } from '../server/request-observer.js';
import { createResponder } from '../server/responder.js';
import { checkSettings, type GatewaySettings } from './options.js';
import { FetchExchange, parsedBody, readRequest } from './requests.js';

/**
 * The settings of the process as options, without `host`, `port`, `adminPort`, `drainMs`. Two defaults
 * differ: no `/metrics`, and demo data only with `demo: true`. No setting is read from the environment.
 */
export interface OpenGatewayOptions extends GatewaySettings {
  /** Gets the lines of the log, which are JSON. The default is the standard output. */
  readonly logTo?: LineWriter;
}

/** Whether a gateway should get requests, as `/ready` says it. */
export interface Readiness {
  readonly ready: boolean;
  /** Why it is not ready. */
  readonly reason?: string;
}

export interface LineWriter {
  write(line: string): void;
}

export interface FetchContext {
  /**
   * The client: the address at the other end of the connection, or another text that tells clients apart, such as a
   * user's id. Clients take turns, and each has its own `rateLimit`. If this is the address of one of the
   * `trustedProxies`, the client is the last address in `X-Forwarded-For` that is not one of these proxies. Requests
   * without a client count as one client.
   */
  readonly client?: string | undefined;
}

/** A gateway inside another server. No function of it uses `this`. */
export interface OpenedGateway {
  /** Responds to a request. Rejects if the request is aborted, or if its body was read before or is cut off. */
  readonly fetch: (request: Request, context?: FetchContext) => Promise<Response>;
  /**
   * Responds to a request of node:http or Express, or to the raw request of Fastify. It never throws: if a framework has
   * parsed the body and the result cannot be written as JSON, the response is 400.
   */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** Whether the gateway should get requests: it has listings to serve and is not closed. If not, why. */
  readonly ready: () => Readiness;
  /** The metrics of this gateway as text for Prometheus, to be sent as `text/plain; version=0.0.4`. */
  readonly metrics: () => Promise<string>;
  /**
   * Stops refreshing, and closes the connections to the upstream and to Redis. After that, requests are still
   * answered from the data in memory, which grows old. Fields that need other data, such as uncached routes, fail.
   */
  readonly close: () => Promise<void>;
}

/**
 * Opens a gateway inside another server: with snapshots, response cache and limits, without a port, signals or
 * environment variables. The server around it must bound the connections and the time that a client may take.
 *
 * @throws TypeError for an invalid option; an error of `node:fs` if `snapshotDir` is not a directory
 */
export async function openGateway(options: OpenGatewayOptions = {}): Promise<OpenedGateway> {
  if (typeof options !== 'object' || options === null)
    throw new TypeError(`Expected an object of options, such as { demo: true }, got ${options}.`);
  const { logTo, ...settings } = options;
  const isWriter = logTo === undefined || typeof logTo?.write === 'function';
  const config = checkSettings(settings, isWriter ? [] : ['logTo: expected an object with a method `write`']);
  const log = await createLogger({
    level: config.logLevel,
    readable: false,
    secrets: secretsOf(config),
    destination: logTo,
  });
  if (servesDemo(config)) log.warn(`${DEMO_LABEL}, because of demo: true`);
  const metrics = createMetrics({ ofProcess: false });
  const parts = await assemble({ config, metrics, log });
  const observer = createRequestObserver({ ...config, metrics, log });
  const respond = createResponder({ ...config, ...parts, observer, metrics, log });
  const { maxBodyBytes } = config;
  const serverFacts = { findClient: createClientFinder(config.trustedProxies), isStopping: false };
  const limits = { maxBodyBytes, budget: createByteBudget(MAX_UNANSWERED_REQUEST_BYTES) };
  parts.start();

  return {
    async fetch(request, context) {
      if (!request?.signal)
        throw new TypeError(`Expected a Request, got ${request}. Write new Request(url).`);
      if (request.bodyUsed || request.body?.locked) throw new TypeError(BODY_READ);
      const aborted = rejectWhenAborted(request);
      const read = await Promise.race([aborted, readRequest(request, maxBodyBytes)]);
      const responded = new Promise<Response>((resolve) => {
        respond(new FetchExchange(request, read, context?.client, serverFacts.findClient, resolve));
      });
      return Promise.race([responded, aborted]);
    },
    handler(request: NodeRequest, response) {
      const connection = new Connection(request.socket, () => {});
      const exchange = new NodeExchange(request, response, connection, serverFacts);
      const onRead = (read: ReadBody) => {
        exchange.read = read;
        exchange.startedAt = performance.now();
        if (read.release) response.once('close', read.release);
        if (read.refusal) observer.refuse(exchange, read.refusal);
        else respond(exchange);
      };
      const parsed = parsedBody(request, maxBodyBytes);
      if (parsed) onRead(parsed);
      else readBody(request, connection, limits, onRead);
    },
    ready() {
      const reason = parts.notReadyReason();
      return reason === undefined ? { ready: true } : { ready: false, reason };
    },
    metrics: async () => (await metrics.expose()).text,
    async close() {
      parts.stop();
      await parts.giveUp();
      await parts.close();
    },
  };
}

const BODY_READ =
  'Expected a Request whose body was not read before. Read the body of request.clone() instead, before you pass the request on.';

/** Rejects when the request is aborted: some servers then leave the stream of its body open. */
function rejectWhenAborted({ signal }: Request): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
