/** An answer as received. */
export interface Answer {
  readonly status: number;
  /** The headers by their names in lower case. The values of a repeated header are joined by commas. */
  readonly headers: ReadonlyMap<string, string>;
  /** The body as received, so it can still be compressed. */
  readonly body: Buffer;
}

interface Head {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
}

/** Reads answers from the bytes of one connection. @param methods the methods of the requests, in order */
export function createAnswerReader(methods: readonly string[]) {
  const answers: Answer[] = [];
  let pending: Buffer = Buffer.alloc(0);
  let head: Head | undefined;
  let body: Buffer[] = [];

  function read(bytes: number): Buffer | undefined {
    if (pending.byteLength < bytes) return undefined;
    const part = pending.subarray(0, bytes);
    pending = pending.subarray(bytes);
    return part;
  }

  function readLine(): string | undefined {
    const at = pending.indexOf('\r\n');
    if (at < 0) return undefined;
    return read(at + 2)?.toString('latin1', 0, at);
  }

  function finish({ status, headers }: Head): true {
    // Interim responses, such as 100, do not count.
    if (status >= 200) answers.push({ status, headers, body: Buffer.concat(body) });
    head = undefined;
    body = [];
    return true;
  }

  function readHead(): boolean {
    const at = pending.indexOf('\r\n\r\n');
    if (at < 0) return false;
    if (answers.length >= methods.length) throw new Error(`An answer to nothing: ${shownStart(pending)}`);
    head = headOf(read(at + 4)?.toString('latin1') ?? '');
    return true;
  }

  /** Reads one step further. False if more bytes are needed. */
  function advance(): boolean {
    if (!head) return readHead();
    const { status, headers } = head;
    const hasBody = status >= 200 && status !== 204 && status !== 304 && methods[answers.length] !== 'HEAD';
    if (!hasBody) return finish(head);
    if (headers.get('transfer-encoding') === 'chunked') return readChunk(head);
    const length = headers.get('content-length');
    if (length === undefined) return false;
    const bytes = read(Number(length));
    if (!bytes) return false;
    body.push(bytes);
    return finish(head);
  }

  function readChunk(head: Head): boolean {
    const before = pending;
    const line = readLine();
    if (line === undefined) return false;
    if (!/^[0-9a-f]+$/i.test(line))
      throw new Error(`Expected the size of a chunk, got ${JSON.stringify(line)}`);
    const size = Number.parseInt(line, 16);
    const bytes = read(size + 2);
    if (!bytes) {
      pending = before;
      return false;
    }
    if (size === 0) return finish(head);
    body.push(bytes.subarray(0, size));
    return true;
  }

  return {
    /** The complete answers. */
    answers: answers as readonly Answer[],
    /** Reads the next bytes. Throws if they are not a valid HTTP/1.1 answer. */
    push(bytes: Buffer): void {
      pending = pending.byteLength === 0 ? bytes : Buffer.concat([pending, bytes]);
      while (pending.byteLength > 0 || head) if (!advance()) break;
    },
    /** Ends the input. Throws if an answer is incomplete. */
    end(): void {
      // An answer without a length ends with the connection.
      if (head && !head.headers.has('content-length') && !head.headers.has('transfer-encoding')) {
        body.push(pending);
        finish(head);
        return;
      }
      if (head || pending.byteLength > 0) throw new Error(`An answer broke off: ${shownStart(pending)}`);
    },
  };
}

function headOf(text: string): Head {
  const [line = '', ...lines] = text.trimEnd().split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
  if (!status) throw new Error(`Expected a status line, got ${JSON.stringify(line.slice(0, 100))}`);
  const headers = new Map<string, string>();
  for (const header of lines) {
    const [, name, value] = /^([\w!#$%&'*+.^`|~-]+): ?([^\r\n\0]*)$/.exec(header) ?? [];
    if (name === undefined || value === undefined) {
      throw new Error(`Expected a header, got ${JSON.stringify(header.slice(0, 100))}`);
    }
    const key = name.toLowerCase();
    const before = headers.get(key);
    headers.set(key, before === undefined ? value.trim() : `${before}, ${value.trim()}`);
  }
  return { status, headers };
}

function shownStart(bytes: Buffer): string {
  return JSON.stringify(bytes.toString('latin1', 0, 200));
}
