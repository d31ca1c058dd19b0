/** Requests to which a gateway must respond in the same way, however it is mounted. */
import type { Received } from '../support/send-http.js';
import { plainOf } from '../support/test-server.js';

export interface Asked {
  readonly method?: string;
  /** The path below the base path, with its query string, by default `/graphql`. */
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

export const JSON_TYPE = { 'content-type': 'application/json' };
export const PAGE = { origin: 'https://app.example' };

export const posted = (query: string, headers: Record<string, string> = {}): Asked => ({
  method: 'POST',
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify({ query }),
});
export const got = (query: string, headers: Record<string, string> = {}): Asked => ({
  path: `/graphql?query=${encodeURIComponent(query)}`,
  headers,
});
export const agent = (body: string, headers: Record<string, string> = {}): Asked => ({
  method: 'POST',
  path: '/mcp',
  headers: { ...JSON_TYPE, ...headers },
  body,
});
export const preflight = (path: string, method: string): Asked => ({
  path,
  method: 'OPTIONS',
  headers: {
    ...PAGE,
    'access-control-request-method': method,
    'access-control-request-headers': 'content-type',
  },
});

export const QUERY = '{ tokens(srcChainKey: "degen") { symbol decimals chain { name } } }';
export const LONG = '{ tokens { id symbol name decimals address chain { name chainKey } } }';

export const REQUESTS: Readonly<Record<string, Asked>> = {
  'a query by POST': posted(QUERY),
  'a query by GET': got(QUERY),
  'a compressed response': got(LONG, { 'accept-encoding': 'br' }),
  'another compression': posted(LONG, { 'accept-encoding': 'gzip' }),
  'a page of another origin': posted(QUERY, PAGE),
  'a preflight request': preflight('/graphql', 'POST'),
  'a request id': posted(QUERY, { 'x-request-id': 'mine-1' }),
  'an unknown field': posted('{ nothing }'),
  'a syntax error': posted('{'),
  'an invalid argument': posted('{ tokenSearch(first: 1000) { totalCount } }'),
  'a body that is no JSON': { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'hello' },
  'no query': posted(''),
  'a body that is too large': posted(`# ${'x'.repeat(2 ** 20)}\n${QUERY}`),
  'a mutation by GET': got('mutation { nothing }'),
  'the picker': { path: '/', headers: { accept: 'text/html' } },
  'the playground': { headers: { accept: 'text/html' } },
  'llms.txt': { path: '/llms.txt' },
  'the schema': { path: '/schema.graphql', headers: { 'accept-encoding': 'gzip' } },
  'the tools for agents': agent('{"jsonrpc":"2.0","id":1,"method":"tools/list"}'),
  'no token list': { path: '/tokenlist.json?chainKey=nope' },
  'a path that is not served': { path: '/metrics' },
  'a compressed body': posted(QUERY, { 'content-encoding': 'gzip' }),
  'another method': { method: 'PUT', headers: JSON_TYPE, body: JSON.stringify({ query: QUERY }) },
};

/** Headers that depend on the connection or the moment, or that hosts add. */
const NOT_COMPARED =
  'connection content-length date keep-alive last-modified transfer-encoding x-powered-by'.split(' ');

/** Executed; executed and cached; from the cache. Parts that differ between gateways or moments are left out. */
export async function answers(ask: (asked: Asked) => Promise<Received>, asked: Asked) {
  const answers = [];
  for (let time = 0; time < 3; time++) {
    const received = await ask(asked);
    const { status, headers, body } = received;
    const compared = Object.entries(headers).filter(([name]) => !NOT_COMPARED.includes(name));
    const text = (body.length > 0 ? plainOf(received) : body).toString();
    // Each gateway has fetched the listing at a different time.
    const isTokenList = asked.path?.startsWith('/tokenlist.json');
    answers.push({
      status,
      body: isTokenList ? text.replace(/"timestamp":"[^"]+"/, '') : text,
      headers: {
        ...Object.fromEntries(compared),
        'x-request-id': String(headers['x-request-id']).replace(/^[0-9a-f-]{36}$/, 'a new one'),
        'cache-control': headers['cache-control']?.replaceAll(/\d+/g, 'n'),
        age: typeof headers.age,
        etag: isTokenList ? typeof headers.etag : headers.etag,
      },
    });
  }
  return answers;
}
