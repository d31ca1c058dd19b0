// Calls route handlers as Next does: by method, with a Request and a second argument.
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { GET, HEAD, OPTIONS, POST } from './route.js';

const route = new Map(Object.entries({ GET, HEAD, OPTIONS, POST }));

createServer(async (incoming, outgoing) => {
  const { method = 'GET', url, headers } = incoming;
  const body = method === 'GET' || method === 'HEAD' ? undefined : Readable.toWeb(incoming);
  const request = new Request(`http://127.0.0.1:3000${url}`, { method, headers, body, duplex: 'half' });
  const handle = route.get(method) ?? (() => new Response(null, { status: 405 }));
  const response = await handle(request, { params: Promise.resolve({}) });
  if (!(response instanceof Response)) throw new TypeError('Expected a Response');
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}).listen(3000);
