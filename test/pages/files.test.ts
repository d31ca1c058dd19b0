/** Pages and files are revalidated and compressed, and only served files are linked. */
import { describe, expect, it } from 'vitest';
import { createTestGateway } from '../support/test-gateway.js';
import { plainOf, type Received, shareServer } from '../support/test-server.js';

const LINKED = ['/llms.txt', '/schema.graphql'];
const FILES = [...LINKED, '/tokenlist.json'];
const PAGES = ['/', '/graphql'];
/** The token list has no prices, so that caches may use it for long after its listings are stale. */
const UNTIL_STALE = expect.stringMatching(
  /^public, max-age=\d\d, stale-while-revalidate=60, stale-if-error=86400$/,
);

const server = shareServer(() => ({ hasListings: true }));

const get = (path: string, headers: Record<string, string> = {}): Promise<Received> =>
  server.ask({ path, method: 'GET', headers });

describe.each([...FILES, ...PAGES])('%s', (path) => {
  const isPage = PAGES.includes(path);
  const ask = (headers: Record<string, string> = {}) =>
    get(path, isPage ? { accept: 'text/html', ...headers } : headers);

  it('a file is revalidated by its ETag, and not sent again to a client that has it', async () => {
    const { status, headers, body } = await ask();
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': `${path.endsWith('.json') ? 'application/json' : isPage ? 'text/html' : 'text/plain'}; charset=utf-8`,
      'cache-control': LINKED.includes(path) || isPage ? 'no-cache' : UNTIL_STALE,
      'x-content-type-options': 'nosniff',
      vary: isPage ? 'Accept, Accept-Encoding' : 'Accept-Encoding',
    });
    const etag = headers.etag ?? '';
    expect(etag).toMatch(/^W\/"[\w-]+"$/);
    for (const known of [etag, etag.slice(2), `"another", ${etag}`, '*']) {
      const same = await ask({ 'if-none-match': known });
      expect([same.status, same.headers.etag, same.body.byteLength]).toEqual([304, etag, 0]);
      expect(same.headers['cache-control']).toBeDefined();
    }
    expect((await ask({ 'if-none-match': '"other"' })).body).toEqual(body);
  });

  it('a file is compressed as the client accepts, with one ETag for all encodings', async () => {
    const plain = await ask();
    const tags = new Set([plain.headers.etag]);
    for (const encoding of ['br', 'gzip']) {
      const packed = await ask({ 'accept-encoding': encoding });
      expect(packed.headers['content-encoding']).toBe(encoding);
      expect(plainOf(packed)).toEqual(plain.body);
      tags.add(packed.headers.etag);
    }
    expect(tags.size).toBe(1);
  });
});

const NOTHING =
  '/picker/ /picker/x /picker/x/main.js /picker/../src /index.html /graphql/playground/x /graphql/playground/ /graphql/playground/../x';
it.each(NOTHING.split(' '))('there is nothing at %s', async (path) => {
  expect(await get(path, { accept: 'text/html' })).toMatchObject({ status: 404 });
});

it.each([
  ['/', '/picker/', ['main.js', 'style.css', 'guide.html']],
  ['/graphql', '/graphql/playground/', ['start.js', 'graphiql.js']],
])('files of another version of the page at %s lead to this version', async (page, folder, names) => {
  const html = (await get(page, { accept: 'text/html' })).body.toString();
  const [, digest = ''] = new RegExp(`"${folder}([\\w-]{16})/`).exec(html) ?? [];
  for (const name of names) {
    const other = await get(`${folder}${'x'.repeat(16)}/${name}`);
    expect([other.status, other.headers.location]).toEqual([302, `${folder}${digest}/${name}`]);
    expect(other.headers['cache-control']).toBe('no-store');
    expect((await get(other.headers.location ?? '')).status).toBe(200);
  }
  expect((await get(`${folder}${'x'.repeat(16)}/nothing.js`)).status).toBe(404);
});

it.each(FILES)('pages of all origins may read %s, and POST is refused', async (path) => {
  const { headers } = await get(path, { origin: 'https://any.example' });
  expect(headers['access-control-allow-origin']).toBe('*');
  const posted = await server.ask({ path, method: 'POST', body: '{}' });
  expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD, OPTIONS']);
});

it.each(LINKED)('%s is linked once from each page', async (path) => {
  for (const page of PAGES) {
    const html = (await get(page, { accept: 'text/html' })).body.toString();
    expect(html.split(`href="${path}"`)).toHaveLength(2);
  }
});

it.each(PAGES)('%s and the script that starts it do not mention demo data if there is none', async (page) => {
  const html = (await get(page, { accept: 'text/html' })).body.toString();
  const [script = ''] = /\/[^"]+\/(start|main)\.js/.exec(html) ?? [];
  const { status, body } = await get(script);
  expect(status).toBe(200);
  expect(html + body).not.toMatch(/demo/i);
});

it('/schema.graphql is not found without introspection, and not linked', async () => {
  const { fetch } = await createTestGateway({ config: { introspection: false } });
  const missing = await fetch('/schema.graphql');
  expect(missing.status).toBe(404);
  expect(await missing.text()).not.toContain('/schema.graphql');
  for (const path of ['/llms.txt', '/', '/graphql']) {
    const response = await fetch(path, { headers: { accept: 'text/html' } });
    expect(response.status).toBe(200);
    expect(await response.text(), path).not.toContain('/schema.graphql');
  }
});

it('/llms.txt is Markdown in the form of llmstxt.org: a title, a summary, and links to the served files', async () => {
  const text = (await get('/llms.txt')).body.toString();
  expect(text).toMatch(/^# Chains and tokens\n\n> .+\n\n/);
  expect(text).toContain('`/graphql` by POST');
  expect(text.length).toBeLessThan(5_000);
  const [, links = ''] = text.split('\n## Links\n\n');
  const lines = links.trimEnd().split('\n');
  expect(lines.length).toBeGreaterThan(3);
  for (const line of lines) {
    const [, path = ''] = /^- \[[^\]]+\]\(([^)]+)\): ./.exec(line) ?? [];
    const { status } = await get(path, { accept: 'text/html' });
    expect([path, status]).toEqual([path, path === '/mcp' ? 405 : 200]);
  }
});
