/**
 * The servers around the measured one, each in a process of its own: `servers.js upstream` and
 * `servers.js bare`. They tell their port by a message, and end with the process that started them.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { listings } from './workloads.js';

/** What the bare server gives, put to it as JSON. */
export interface BareAnswers {
  readonly contentType: string;
  readonly answers: readonly (readonly [requestBody: string, answer: string])[];
}

/** `/<milliseconds>/<tokens>/v1/<listing>` answers after that time; `/count` says how many such requests came. */
function upstream(): Server {
  const bodies = new Map(
    Object.entries(listings).flatMap(([count, { chains, tokens }]) => [
      [`${count}/v1/chains`, JSON.stringify({ chains })],
      [`${count}/v1/tokens`, JSON.stringify({ tokens })],
    ]),
  );
  let count = 0;
  return createServer(({ url = '' }, response) => {
    if (url === '/count') {
      response.end(String(count));
      return;
    }
    count += 1;
    const [, delayMs, ...path] = url.split('/');
    const body = bodies.get(path.join('/'));
    setTimeout(() => {
      response.writeHead(body ? 200 : 404, { 'content-type': 'application/json' }).end(body);
    }, Number(delayMs));
  });
}

/** The least that a server on `node:http` can do: the bytes of the answer, by the text of the request. */
function bare(): Server {
  let contentType = '';
  let answers = new Map<string, Buffer>();
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      if (request.method === 'PUT') {
        const put = JSON.parse(text) as BareAnswers;
        contentType = put.contentType;
        answers = new Map(put.answers.map(([body, answer]) => [body, Buffer.from(answer)]));
        response.end();
        return;
      }
      const answer = answers.get(text);
      const headers = { 'content-type': contentType, 'content-length': answer?.byteLength ?? 0 };
      response.writeHead(answer ? 200 : 404, headers).end(answer);
    });
  });
}

/** The gateways know nothing of the process that started them: should that one be killed, they are ended here. */
const gatewayPids = new Set<number>();
process.on('message', (pid: number) => gatewayPids.add(pid));
process.on('disconnect', () => {
  for (const pid of gatewayPids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }
  process.exit();
});

const server = process.argv[2] === 'bare' ? bare() : upstream();
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
