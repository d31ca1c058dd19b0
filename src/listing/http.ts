import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import PQueue from 'p-queue';
import { Agent, fetch, Headers, type Response } from 'undici';
import type { Logger } from '../logger.js';
import { malformed, UpstreamError } from './errors.js';
import { broken, pauseBefore, refused, stopped, timedOut } from './faults.js';

/** What {@link createUpstreamHttp} takes. Times are in milliseconds. */
export interface UpstreamHttpOptions {
  /** Base address with its version segment, with or without a trailing slash. */
  readonly baseUrl: string;
  /** Headers for every request, such as a key that the service wants. */
  readonly headers: Readonly<Record<string, string>>;
  /** The limit on one attempt, from its start to the last byte of the answer. */
  readonly timeoutMs: number;
  /** How many further attempts follow a first one that failed in a passing way. */
  readonly retries: number;
  /** No second, wherever it begins, sees more attempts than this. */
  readonly requestsPerSecond: number;
  /** The limit on one answer, counted after decompression. */
  readonly maxBytes: number;
  readonly log: Logger;
}

/** An answer of the upstream. */
export interface UpstreamAnswer {
  readonly json: unknown;
  /** When the attempt that brought it was sent (milliseconds since 1970). */
  readonly sentAt: number;
}

/** One question to the upstream. */
export interface UpstreamQuestion {
  /** The operation's path below the base address, such as `tokens`. */
  readonly path: string;
  /** Query parameters; those that are undefined are left out. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Whether it goes before what waits under the ceiling: listings do, so that routes cannot starve them. */
  readonly first: boolean;
}

/** The only door to the upstream. */
export interface UpstreamHttp {
  /**
   * Asks, and asks again where that may help.
   *
   * @throws UpstreamError, and nothing else
   */
  getJson(question: UpstreamQuestion): Promise<UpstreamAnswer>;
  /** Ends what is under way; whoever waits for it gets an UpstreamError. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Beyond what the ceiling lets through in this time, questions are refused rather than queued. */
const MAX_QUEUE_SECONDS = 30;
/** A second as the upstream may measure it: what leaves here evenly can arrive a little bunched. */
const CEILING_WINDOW_MS = 1_050;
const LOGGED_BODY_LENGTH = 500;
const JSON_TYPE = /^(application|text)\/([\w.-]+\+)?json\s*(;|$)/i;

/** Makes the door to one upstream: one kept-alive pool, one ceiling, one set of limits. */
export function createUpstreamHttp(options: UpstreamHttpOptions): UpstreamHttp {
  const { baseUrl, headers, timeoutMs, retries, requestsPerSecond, maxBytes, log } = options;
  const base = baseUrl.replace(/\/+$/, '');
  const connectTimeoutMs = Math.min(timeoutMs, CONNECT_TIMEOUT_MS);
  const sentHeaders = new Headers({ accept: 'application/json' });
  for (const [name, value] of Object.entries(headers)) sentHeaders.set(name, value);
  const agent = new Agent({
    connect: { timeout: connectTimeoutMs },
    keepAliveTimeout: 30_000,
    // The limit of an attempt holds for the whole of it; these would only name the same fault differently.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const ceiling = new PQueue({ intervalCap: requestsPerSecond, interval: CEILING_WINDOW_MS, strict: true });
  const closing = new AbortController();
  // Everything that waits listens to it.
  setMaxListeners(0, closing.signal);
  const underWay = new Set<AbortController>();

  async function getJson(question: UpstreamQuestion): Promise<UpstreamAnswer> {
    const url = addressOf(base, question);
    for (let attempt = 0; ; attempt++) {
      try {
        return await underCeiling(question, () => send(url));
      } catch (thrown) {
        const error = thrown instanceof UpstreamError ? thrown : stopped(thrown);
        const pauseMs = pauseBefore(attempt, error);
        if (closing.signal.aborted || attempt >= retries || pauseMs === undefined) throw error;
        log.debug(
          { url, attempt, pauseMs, code: error.code, detail: error.detail },
          'Asking the upstream again',
        );
        await sleep(pauseMs, undefined, { signal: closing.signal }).catch((reason) => {
          throw stopped(reason);
        });
      }
    }
  }

  async function underCeiling(
    question: UpstreamQuestion,
    task: () => Promise<UpstreamAnswer>,
  ): Promise<UpstreamAnswer> {
    if (!question.first && ceiling.size >= requestsPerSecond * MAX_QUEUE_SECONDS) {
      throw new UpstreamError(
        'UPSTREAM_RATE_LIMITED',
        `At most ${requestsPerSecond} questions a second may go to the upstream, and ${ceiling.size} wait already. Try again in ${MAX_QUEUE_SECONDS} seconds.`,
      );
    }
    return ceiling.add(task, { priority: question.first ? 1 : 0, signal: closing.signal });
  }

  async function send(url: string): Promise<UpstreamAnswer> {
    if (closing.signal.aborted) throw stopped(closing.signal.reason);
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(timedOut(timeoutMs, url)), timeoutMs);
    underWay.add(controller);
    const sentAt = Date.now();
    try {
      const response = await fetch(url, {
        dispatcher: agent,
        headers: sentHeaders,
        // A redirect would carry the configured headers to an address that nobody configured.
        redirect: 'manual',
        signal: controller.signal,
      });
      if (response.status !== 200) {
        throw refused(response.status, response.headers.get('retry-after'), url, await headOf(response));
      }
      return { json: await readJson(response, url, maxBytes), sentAt };
    } catch (error) {
      if (error instanceof UpstreamError) throw error;
      if (controller.signal.reason instanceof UpstreamError) throw controller.signal.reason;
      throw broken(error, url, connectTimeoutMs);
    } finally {
      clearTimeout(timer);
      underWay.delete(controller);
      // Ends the connection where an answer was given up before its end, and does nothing elsewhere.
      controller.abort();
    }
  }

  async function close(): Promise<void> {
    const reason = stopped(undefined);
    closing.abort(reason);
    for (const controller of underWay) controller.abort(reason);
    await agent.destroy();
  }

  return { getJson, close };
}

function addressOf(base: string, { path, query = {} }: UpstreamQuestion): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const search = new URLSearchParams(given).toString();
  return `${base}/${path}${search && `?${search}`}`;
}

async function readJson(response: Response, url: string, maxBytes: number): Promise<unknown> {
  const type = response.headers.get('content-type') ?? 'none';
  if (!JSON_TYPE.test(type)) {
    throw malformed('expected content of type application/json', `${url}: content-type ${type}`);
  }
  const bytes = await readBytes(response, maxBytes);
  if (!bytes) throw malformed(`expected at most ${maxBytes} bytes, got more`, url);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw malformed('expected JSON in UTF-8', `${url}: ${String(cause)}`, cause);
  }
}

/** The decompressed body, or undefined if it passes the limit. */
async function readBytes(response: Response, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

/** The beginning of a body for the log, to the end of a word: half a secret would not be known as one. */
async function headOf(response: Response): Promise<string> {
  try {
    const first = await response.body?.getReader().read();
    const text = Buffer.from(first?.value ?? []).toString('utf8');
    return text.length > LOGGED_BODY_LENGTH
      ? `${text.slice(0, LOGGED_BODY_LENGTH).replace(/\S*$/, '')}…`
      : text;
  } catch {
    return '';
  }
}
