/** Connections that send raw bytes, and show the bytes that come back. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';

export type RawConnection = Awaited<ReturnType<typeof openRaw>>;

/** @param options `from`: the client's address, such as 127.0.0.2; `isReading`: false reads nothing */
export async function openRaw(
  address: string,
  { from, isReading = true }: { from?: string; isReading?: boolean } = {},
) {
  const { hostname, port } = new URL(address);
  const socket = connect({ host: hostname, port: Number(port), ...(from ? { localAddress: from } : {}) });
  let text = '';
  let isClosed = false;
  // Most tests expect the connection to be cut.
  socket.on('error', () => {});
  socket.once('close', () => {
    isClosed = true;
  });
  if (isReading) socket.on('data', (chunk) => (text += chunk.toString('latin1')));
  else socket.pause();
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, 'connect');
  return {
    socket,
    received: () => text,
    isClosed: () => isClosed,
    send: (bytes: string | Uint8Array) =>
      new Promise<void>((resolve) => socket.write(bytes, () => resolve())),
  };
}

export async function sendRaw(address: string, bytes: string): Promise<string> {
  const connection = await openRaw(address);
  const closed = once(connection.socket, 'close');
  await connection.send(bytes);
  await closed;
  return connection.received();
}

export const CHUNKED =
  'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

export function postOf(query: string, headers = ''): string {
  const body = JSON.stringify({ query });
  return `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}
