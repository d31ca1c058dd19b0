import type { Operation } from '../../support/generated-operations.js';

/** One request that any HTTP client could send. {@link exchangeOf} makes its bytes. */
export interface PlainRequest {
  readonly method: string;
  readonly target: string;
  /** The headers in their order, in addition to those that `exchangeOf` adds. A name may be repeated. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Buffer;
}

/** The bytes to send on one connection, and the expected answers. */
export interface Exchange {
  /** The name of the generator that made the exchange, for reports. */
  readonly kind: string;
  /** The bytes, in the parts in which they are sent. */
  readonly writes: readonly Buffer[];
  /** The methods of the requests: there may be at most as many answers, and one to HEAD has no body. */
  readonly methods: readonly string[];
  /** How many answers are required before the connection may close. */
  readonly answersAtLeast: number;
  /** What the client does after sending: waits, half-closes the connection and waits, or cuts it off. */
  readonly ending: 'wait' | 'half-close' | 'cut';
  /** Present if the exchange is one plain request. */
  readonly request?: PlainRequest;
  /** Present if the request is a valid operation, whose answer can be compared. */
  readonly operation?: Operation;
}

/** The exchange of one plain request and its answer. */
export function exchangeOf(kind: string, request: PlainRequest, operation?: Operation): Exchange {
  const { method, target, body } = request;
  const given = new Set(request.headers.map(([name]) => name.toLowerCase()));
  const headers = [...request.headers];
  if (!given.has('host')) headers.unshift(['host', 'gateway.test']);
  if (body && !given.has('content-length') && !given.has('transfer-encoding')) {
    headers.push(['content-length', String(body.byteLength)]);
  }
  // A request that announces more bytes than it has is incomplete, and need not be answered.
  const isWhole = !given.has('content-length') && !given.has('transfer-encoding');
  return {
    kind,
    writes: [Buffer.concat([headOf(method, target, headers), body ?? Buffer.alloc(0)])],
    // The gateway may answer first, and then answer the missing rest of the body with an error.
    methods: isWhole ? [method] : [method, 'GET'],
    answersAtLeast: isWhole ? 1 : 0,
    ending: isWhole ? 'wait' : 'half-close',
    request,
    ...(operation && { operation }),
  };
}

/** The head of a request. Each character is one byte, so that invalid UTF-8 can be sent. */
export function headOf(
  method: string,
  target: string,
  headers: readonly (readonly [name: string, value: string])[],
): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** The same request, changed so that no cache has its response. A request without a document stays unchanged. */
export function varied(exchange: Exchange, nth: number): Exchange {
  const { kind, request } = exchange;
  // As bytes: some bodies are nested too deeply for JSON.parse.
  const text = request?.body?.toString('latin1');
  if (!request || !text?.startsWith(DOCUMENT)) return exchange;
  const changed = `{"extensions":{"nth":${nth}},"query":"# ${nth}\\n${text.slice(DOCUMENT.length)}`;
  return exchangeOf(kind, { ...request, body: Buffer.from(changed, 'latin1') });
}

/** The beginning of a body with a document. */
const DOCUMENT = '{"query":"';

const SHOWN_CHARACTERS = 3_000;

/** A command that sends the same bytes. */
export function shown({ writes, ending }: Exchange): string {
  const bytes = Buffer.concat(writes).toString('base64');
  const cut = bytes.length > SHOWN_CHARACTERS ? `… (${bytes.length} characters)` : '';
  return `echo ${bytes.slice(0, SHOWN_CHARACTERS)}${cut} | base64 -d | nc 127.0.0.1 4000   # then ${ending}`;
}
