import { METHODS } from 'node:http';
import { describe, expect, it } from 'vitest';
import { answerOf } from '../support/test-gateway.js';
import { startServer } from '../support/test-server.js';

const LONG = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };
const QUERY = '{ chain(chainKey: "base") { name } }';
/** Headers that are set for each response, or that the HTTP server adds, also to responses by GraphQL Yoga. */
const NOT_COMPARED =
  'x-request-id content-length date connection keep-alive transfer-encoding age etag cache-control last-modified';

const ACCEPTED = [
  '*/*',
  'application/json',
  'application/json, application/graphql-response+json',
  'application/graphql-response+json',
  'application/graphql-response+json, application/json',
  'application/graphql-response+json,application/json;q=0.9',
  'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed',
  'application/graphql-response+json, application/json, multipart/mixed',
  // Unknown before the first response.
  'application/graphql-response+json;q=0.8, application/json;q=0.7',
];

function comparable(headers: Iterable<[string, string | string[] | undefined]>) {
  return [...headers]
    .filter(([name]) => !NOT_COMPARED.split(' ').includes(name))
    .map(([name, value]) => [name.toLowerCase(), String(value).replace(/(^|, )Accept, Accept-Encoding$/, '')])
    .filter(([, value]) => value !== '')
    .sort();
}

describe('a response that is written without GraphQL Yoga', () => {
  it.each([
    ['all origins', '*' as const],
    ['one origin', ['https://a.example']],
  ])('has the headers of Yoga for %s, with any Accept header', async (_name, corsOrigins) => {
    const { ask, gateway, executed } = await startServer({ config: { ...LONG, corsOrigins } });
    let nth = 0;
    for (const method of ['GET', 'POST', ...METHODS.filter((name) => name === 'QUERY')])
      for (const accept of [undefined, ...ACCEPTED])
        for (const origin of [undefined, 'https://a.example', 'https://b.example']) {
          const headers = { ...(accept ? { accept } : {}), ...(origin ? { origin } : {}) };
          const asked = (query: string) =>
            method === 'QUERY'
              ? { method, headers, path: '/graphql', body: JSON.stringify({ query }) }
              : { query, method, headers };
          const url = `http://gateway/graphql${method === 'GET' ? `?query=${encodeURIComponent(QUERY)}` : ''}`;
          const init = method !== 'GET' ? { body: JSON.stringify({ query: QUERY }) } : {};
          const type = method !== 'GET' ? { 'content-type': 'application/json' } : {};
          const byYoga = await answerOf(
            gateway,
            new Request(url, { method, headers: { ...headers, ...type }, ...init }),
          );
          const before = executed();
          // Yoga responds to the first request of an unusual kind, the writer to the next ones.
          await ask(asked(`${QUERY} # ${nth++}`));
          const written = await ask(asked(`${QUERY} # ${nth++}`));
          expect(executed() - before).toBe(2);
          const what = `${method} ${accept} ${origin}`;
          expect(comparable(Object.entries(written.headers)), what).toEqual(comparable(byYoga.headers));
          expect(written.body.toString()).toBe(await byYoga.text());
        }
  });
});
