/** Serves a server of the bench for as long as the bench runs, and reads the rows of the upstream. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { RawChain, RawToken } from '../../fixtures/demo.js';

/** Opens a port and sends its number to the parent process. This process ends when the parent process ends. */
export function serve(server: Server): void {
  process.once('disconnect', () => process.exit());
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}

/** Serves the answers of a function that gets the whole body of each request. */
export function serveBodies(
  answer: (body: string, request: IncomingMessage, response: ServerResponse) => void,
) {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(Buffer.concat(chunks).toString(), request, response));
  });
  serve(server);
}

export async function readRows(address: string) {
  const read = async (listing: string) => (await fetch(`${address}/${listing}`)).json();
  const { chains } = (await read('chains')) as { chains: readonly RawChain[] };
  const { tokens } = (await read('tokens')) as { tokens: readonly RawToken[] };
  return { chains, tokens, chainByKey: new Map(chains.map((chain) => [chain.chainKey, chain])) };
}
