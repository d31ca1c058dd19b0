/** The exchanges of the fuzz test: plain requests and raw bytes, and the form in which a failure reports them. */
import fc from 'fast-check';

export type Header = readonly [name: string, value: string];

/** One request that any HTTP client could send. In all texts each character is one byte. */
export interface PlainRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body?: string;
}

/** Bytes for a new connection, in the parts in which they are sent. Each character is one byte. */
export interface RawBytes {
  readonly writes: readonly string[];
  readonly isCut: boolean;
  readonly answersAtLeast: number;
}

export type Exchange = PlainRequest | RawBytes;

/** The text with one character for each of its bytes in UTF-8. */
export const bytesOf = (text: string | Buffer): string => Buffer.from(text).toString('latin1');

export function headOf(method: string, target: string, headers: readonly Header[]): string {
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const MAX_SHOWN = 4_000;

export function reported<Sent extends Exchange>(exchange: Sent): Sent {
  const [all, name] =
    'writes' in exchange
      ? [exchange.writes.join(''), `raw bytes, ${exchange.isCut ? 'then cut off' : 'then half-closed'}`]
      : [headOf(exchange.method, exchange.target, exchange.headers) + (exchange.body ?? ''), 'request'];
  const text = () => `${name}, ${all.length} bytes: ${JSON.stringify(all.slice(0, MAX_SHOWN))}`;
  return { ...exchange, [fc.toStringMethod]: text };
}
