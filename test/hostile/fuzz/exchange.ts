import type { Operation } from '../../support/generated-operations.js';

/** One request that any HTTP client could send; its bytes are made by {@link exchangeOf}. */
export interface PlainRequest {
  readonly method: string;
  readonly target: string;
  /** In their order, beside those that `exchangeOf` adds; a name may come more than once. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Buffer;
}

/** What is sent on one connection, and what has to come back. */
export interface Exchange {
  /** What made it, for reports. */
  readonly kind: string;
  /** The bytes, in the pieces in which they are sent. */
  readonly writes: readonly Buffer[];
  /** The methods of the requests in them: no more answers may come, and one to HEAD has no body. */
  readonly methods: readonly string[];
  /** How many answers have to come before the connection may close. */
  readonly answersAtLeast: number;
  /** What the client does after sending: waits, half-closes the connection and waits, or cuts it off. */
  readonly ending: 'wait' | 'half-close' | 'cut';
  /** Where it is one plain request. */
  readonly request?: PlainRequest;
  /** Where it asks for a valid operation, whose answer can be compared. */
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
  // What says of itself that more comes is not whole, and need not be answered.
  const isWhole = !given.has('content-length') && !given.has('transfer-encoding');
  return {
    kind,
    writes: [Buffer.concat([headOf(method, target, headers), body ?? Buffer.alloc(0)])],
    // An answer may come before the rest is missed, which has another.
    methods: isWhole ? [method] : [method, 'GET'],
    answersAtLeast: isWhole ? 1 : 0,
    ending: isWhole ? 'wait' : 'half-close',
    request,
    ...(operation && { operation }),
  };
}

/** A request's line and headers; each letter is a byte, so that bytes which are none of UTF-8 can be written. */
export function headOf(
  method: string,
  target: string,
  headers: readonly (readonly [name: string, value: string])[],
): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

/** The same request so that nothing which was kept of an earlier one serves; what has no document stays as it is. */
export function varied(exchange: Exchange, nth: number): Exchange {
  const { kind, request } = exchange;
  // As bytes: what is nested too deep for JSON.parse is among them.
  const text = request?.body?.toString('latin1');
  if (!request || !text?.startsWith(DOCUMENT)) return exchange;
  const changed = `{"extensions":{"nth":${nth}},"query":"# ${nth}\\n${text.slice(DOCUMENT.length)}`;
  return exchangeOf(kind, { ...request, body: Buffer.from(changed, 'latin1') });
}

/** How a body begins that has a document. */
const DOCUMENT = '{"query":"';

const SHOWN_CHARACTERS = 3_000;

/** How somebody else can send the same: a command for a shell that has bash and curl. */
export function shown(exchange: Exchange): string {
  const { request, writes } = exchange;
  const isText =
    request?.body === undefined || Buffer.from(request.body.toString('utf8')).equals(request.body);
  if (!request || !isText || /[^ -~]/.test(request.target)) {
    const bytes = Buffer.concat([...writes]).toString('base64');
    if (bytes.length > SHOWN_CHARACTERS)
      return `${exchange.ending}, ${bytes.length} characters of base64: ${bytes.slice(0, SHOWN_CHARACTERS)}…`;
    return `echo ${bytes} | base64 -d | nc 127.0.0.1 4000   # then ${exchange.ending}`;
  }
  const { method, target, headers, body } = request;
  const options = headers.map(([name, value]) => ` -H ${inQuotes(`${name}: ${value}`)}`);
  if (body) options.push(` --data-binary ${inQuotes(body.toString('utf8'))}`);
  const how = method === 'HEAD' ? '-I' : `-X ${method}`;
  const where = target.startsWith('/')
    ? inQuotes(`http://127.0.0.1:4000${target}`)
    : `--request-target ${inQuotes(target)} http://127.0.0.1:4000`;
  const command = `curl -gs --path-as-is ${how}${options.join('')} ${where}`;
  return command.length > SHOWN_CHARACTERS
    ? `${command.slice(0, SHOWN_CHARACTERS)}… (${command.length} characters)`
    : command;
}

/** With all that is no plain ASCII escaped, for `$'…'`. */
function inQuotes(text: string): string {
  const escaped = text.replace(/[\\']/g, '\\$&').replace(/[^ -~]/g, (letter) => {
    return [...Buffer.from(letter)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
  });
  return escaped === text ? `'${text}'` : `$'${escaped}'`;
}
