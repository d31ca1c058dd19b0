import { once } from 'node:events';
import { type AddressInfo, Server as NetServer } from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { createAnswers, createKeptAnswer, type KeptAnswer, type Question, questionOf } from './answers.js';
import type { Whole } from './basis.js';
import { requestIdFrom } from './context.js';
import { type Gateway, GRAPHQL_PATH, type Standing } from './gateway.js';
import { createHttpServer, type Exchange, type HttpServerOptions } from './http-server.js';
import type { ReadBody } from './read-body.js';
import { INTERNAL_ERROR } from './refusals.js';
import { urlOf } from './request-target.js';
import { sendAnswer, sendResponse } from './send.js';

/** What {@link createGatewayServer} takes. */
export interface GatewayServerOptions extends HttpServerOptions {
  readonly gateway: Gateway;
  /** A document with more lexical tokens is refused. */
  readonly maxQueryTokens: number;
  /** How many bytes kept answers may take in all. */
  readonly maxAnswerBytes?: number;
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
   * Stops without losing a request: goes on as before for `lameDuckMs`; then closes the port, tells the
   * client with each further answer to use the connection no more, and resolves when all of them are gone.
   * Connections that are still there after `withinMs` are cut off.
   */
  drain(lameDuckMs: number, withinMs: number): Promise<void>;
}

const MAX_ANSWER_BYTES = 24 * 2 ** 20;
/** For so long what is asked while the same is executed waits for the answer to that. */
const SAME_ANSWER_WITHIN_MS = 1_000;
/** How long a connection that is open when the port closes has to send its next request. */
const NEXT_REQUEST_GRACE_MS = 1_000;

/** Makes the server; it opens no port before `listen`. */
export function createGatewayServer(options: GatewayServerOptions): GatewayServer {
  const { gateway, maxQueryTokens, maxAnswerBytes = MAX_ANSWER_BYTES, log } = options;
  const answers = createAnswers(maxAnswerBytes, GRAPHQL_PATH, maxQueryTokens);
  /** What is being executed, by what it is the answer to. */
  const executing = new Map<string, Promise<void>>();
  let isPortClosed = false;

  /** Answers with what is kept, if that is what would be answered now. */
  function answerKept(key: string, question: Question, exchange: Exchange): boolean {
    const answer = answers.find(key);
    if (!answer) return false;
    const standing = gateway.standing(answer.basis);
    if (!standing) {
      answers.drop(key);
      return false;
    }
    const requestId = requestIdFrom(question.requestId);
    sendAnswer(question, exchange, answer, standing, requestId, isPortClosed);
    if (log.isLevelEnabled('info')) {
      const { statusCode: status } = exchange.response;
      const about = { requestId, method: question.method, path: GRAPHQL_PATH, status };
      log.info({ ...about, operation: answer.operation, ms: 0 }, 'Answered');
    }
    return true;
  }

  /** Answers what is not kept; what means the same is executed once, whoever else asks for it meanwhile. */
  async function answerAnew(
    key: string | undefined,
    question: Question,
    read: ReadBody,
    exchange: Exchange,
  ): Promise<void> {
    const others = key === undefined ? undefined : executing.get(key);
    if (key !== undefined && others) {
      // No longer than for what is at hand: it may be the upstream that they wait for.
      await Promise.race([others, sleep(SAME_ANSWER_WITHIN_MS, undefined, { ref: false })]);
      if (answerKept(key, question, exchange)) return;
    }
    const url = urlOf(exchange.request);
    if (!url) {
      exchange.refuse({ status: 400, message: 'Expected a path, such as /graphql.', isLast: true });
      return;
    }
    const executed = execute(key, url, read, exchange);
    if (key !== undefined) share(key, executed);
    const { answer, kept } = await executed;
    // Asked as late as this, so that the connection of a request which came before the stop ends with it, too.
    const isLast = isPortClosed || read.isCutOff === true;
    if (kept) {
      const requestId = answer.headers.get('x-request-id') ?? '';
      sendAnswer(question, exchange, kept.answer, kept.standing, requestId, isLast);
      return;
    }
    const { response } = exchange;
    if (isLast) response.setHeader('connection', 'close');
    if (url.pathname === GRAPHQL_PATH && !answer.headers.has('cache-control')) {
      response.setHeader('cache-control', 'no-store');
    }
    await sendResponse(exchange, answer);
  }

  /** Has the gateway answer, and keeps that under the key where it is whole and will be good for others. */
  async function execute(
    key: string | undefined,
    url: URL,
    { body, bytesOverLimit }: ReadBody,
    { request, response }: Exchange,
  ): Promise<Executed> {
    const closed = new AbortController();
    response.once('close', () => {
      // Of a whole answer nobody is waiting for the end, and an abort costs as much as a small one.
      if (!response.writableFinished) closed.abort();
    });
    // Not a function that is called back: such a one has held on to every request after its own.
    const said: { whole?: Whole } = {};
    const answer = await gateway.fetch(
      new gateway.Request(url, {
        method: request.method ?? 'GET',
        headers: request.headers as Record<string, string>,
        body: body ?? null,
        signal: closed.signal,
      }),
      { client: request.socket.remoteAddress, bodyBytesOverLimit: bytesOverLimit, said },
    );
    const { whole } = said;
    const standing = whole && isPlain(answer) ? gateway.standing(whole.basis) : undefined;
    if (key === undefined || !whole || !standing) return { answer };
    const made = await keptAnswerOf(answer, whole);
    answers.keep(key, made);
    return { answer, kept: { answer: made, standing } };
  }

  /** Lets others who ask for the same know when it has been executed, with whatever outcome. */
  function share(key: string, executed: Promise<unknown>): void {
    const done = () => {
      if (executing.get(key) === settled) executing.delete(key);
    };
    const settled = executed.then(done, done);
    executing.set(key, settled);
  }

  const { server, closeSilent } = createHttpServer(options, (read, exchange) => {
    const { request, response } = exchange;
    const question = questionOf(request, read.body ?? '');
    const key = read.bytesOverLimit === undefined ? answers.keyOf(question) : undefined;
    if (key !== undefined && answerKept(key, question, exchange)) return;
    answerAnew(key, question, read, exchange).catch((err: unknown) => {
      // A client that went away in mid-request is no fault of ours.
      if (response.destroyed) return;
      log.error({ err }, 'A request met an error of our own');
      if (response.headersSent) response.destroy();
      else exchange.refuse(INTERNAL_ERROR);
    });
  });

  return {
    listen: (host, port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve(`http://${hostInUrl(host)}:${(server.address() as AddressInfo).port}`);
        });
      }),
    async drain(lameDuckMs, withinMs) {
      const cutOff = setTimeout(() => server.closeAllConnections(), withinMs);
      await sleep(lameDuckMs);
      isPortClosed = true;
      const closed = once(server, 'close');
      // The close of an HTTP server also ends connections that have not yet sent their first request.
      NetServer.prototype.close.call(server);
      const closeIdle = setInterval(async () => {
        // After what has come meanwhile is read: a connection is not idle then, and its request not lost.
        await setImmediate();
        server.closeIdleConnections();
        closeSilent();
      }, NEXT_REQUEST_GRACE_MS);
      await closed;
      clearInterval(closeIdle);
      clearTimeout(cutOff);
    },
  };
}

interface Executed {
  readonly answer: Response;
  /** In the place of its body, where it was kept. */
  readonly kept?: { readonly answer: KeptAnswer; readonly standing: Standing };
}

/** Whether it is good, and one piece of JSON: a stream of parts or events says of itself how it is sent. */
function isPlain({ status, headers }: Response): boolean {
  return status === 200 && /^application\/([\w-]+\+)?json\b/.test(headers.get('content-type') ?? '');
}

/** Without what each request has of its own, and what is said anew of its size and state. */
const NOT_KEPT = new Set(['x-request-id', 'x-stale-listings', 'content-length']);

async function keptAnswerOf(answer: Response, { basis, operation }: Whole): Promise<KeptAnswer> {
  const headers = [...answer.headers].filter(([name]) => !NOT_KEPT.has(name)).flat();
  headers.push('vary', 'Accept, Accept-Encoding');
  // Its text is at hand, and its bytes are not: to ask for these would make them twice.
  const body = Buffer.from(await answer.text());
  return createKeptAnswer({ basis, operation, headers, body });
}

function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
