/** The picker is a small page. The gateway serves all its files, and it loads no others. */
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, expect, it } from 'vitest';
import { afterTests } from '../../support/ends.js';
import { startGatewayProcess } from '../../support/gateway-process.js';
import { getAsBrowser } from '../../support/send-http.js';

const PAGE = new URL('../../../src/pages/picker/', import.meta.url);

let address: string;
const atEnd = afterTests();
beforeAll(async () => {
  ({ address } = await startGatewayProcess({}, atEnd));
});

it('the picker is one page whose files and imports are all served', async () => {
  const { status, headers, body } = await getAsBrowser(address, '/');
  const html = body.toString();
  const linked = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)]
    .map(([, path = '']) => path)
    .sort()
    // For programs: `files.test.ts` tests these two.
    .filter((path) => path !== '/llms.txt' && path !== '/schema.graphql');

  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  expect(new Set(String(headers['content-security-policy']).split('; '))).toEqual(
    new Set([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]),
  );
  expect(html).not.toMatch(/\{\{|<style|<script(?! type="module" src)|\sstyle=|\son\w+=/);
  const seen = new Set<string>();
  const visit = async (path: string): Promise<void> => {
    if (seen.has(path)) return;
    seen.add(path);
    const file = await getAsBrowser(address, path);
    expect([path, file.status]).toEqual([path, 200]);
    expect(path).toMatch(/^\/picker\/[\w-]{16}\/([a-z]+\/)?[\w-]+\.(js|css|svg|html)$/);
    expect(file.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    if (path.endsWith('.html')) {
      expect(file.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(file.body.toString()).toContain('<h1>Chains and tokens gateway</h1>');
      const links = [...file.body.toString().matchAll(/<a href="([^"]+)">([^<]+)/g)];
      expect(links.map(([, , label]) => label)).toEqual(['Token picker', 'Playground', 'Schema', 'llms.txt']);
      for (const [, target = ''] of links) {
        const { pathname } = new URL(target, `http://host${path}`);
        expect([pathname, (await getAsBrowser(address, pathname)).status]).toEqual([pathname, 200]);
      }
      await visit(path.replace('guide.html', 'guide.css'));
      return;
    }
    expect(file.body.toString()).not.toMatch(/https?:\/\/(?!www\.w3\.org\/2000\/svg)/);
    // The indents of the queries are shown to people.
    if (path.endsWith('/queries.js')) expect(file.body.toString()).toMatch(/^ {4}\w/m);
    const imported = [...file.body.toString().matchAll(/from '(\.[^']+)'/g)];
    for (const [, name = ''] of imported) await visit(new URL(name, `http://host${path}`).pathname);
  };
  for (const path of linked.filter((path) => path !== '/graphql' && path !== '?')) await visit(path);
  const scripts = readdirSync(PAGE, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.js$/.test(name),
  );
  const base = linked.find((path) => path.endsWith('/main.js'))?.replace('main.js', '');
  expect([...seen]).toEqual(expect.arrayContaining(scripts.map((name) => `${base}${name}`)));
});

it('the styles are served as one, in one line, with their texts as they are', async () => {
  const [path = ''] = /\/picker\/[^"]+\.css/.exec((await getAsBrowser(address, '/')).body.toString()) ?? [];
  const served = (await getAsBrowser(address, path)).body.toString();
  const imports = readFileSync(new URL('style.css', PAGE), 'utf8').matchAll(/^@import "(.+)";$/gm);
  const parts = Array.from(imports, ([, part = '']) => readFileSync(new URL(part, PAGE), 'utf8'));
  expect(parts).toHaveLength(readdirSync(new URL('styles', PAGE)).length);
  const written = parts.join('').replaceAll(/\/\*.*?\*\//gs, '');
  const texts = (style: string) => style.match(/"[^"]*"/g);
  expect(texts(served)).toContain('"{ } "');
  expect([texts(served), served.trim().split('\n')]).toEqual([texts(written), [expect.anything()]]);
});

it('the picker takes less than 29 kB with all its files, as browsers load them', async () => {
  const packed = { 'accept-encoding': 'gzip, deflate, br' };
  const page = (await getAsBrowser(address, '/')).body.toString();
  const files = new Set(page.match(/\/picker\/[\w./-]+\.(?:js|css|svg)/g));
  expect(files.size).toBe(13);
  let bytes = 0;
  for (const path of ['/', ...files]) bytes += (await getAsBrowser(address, path, packed)).body.length;
  expect(bytes).toBeLessThan(28_700);
});
