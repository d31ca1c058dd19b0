/** The playground runs queries without other hosts, and its assets are loaded once. */
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliDecompressSync } from 'node:zlib';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { BROWSER_TIMEOUT_MS, isBrowserMissing, launchBrowser } from '../support/browser.js';
import { type AtEnd, afterTests } from '../support/ends.js';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.js';
import { getAsBrowser as get } from '../support/send-http.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const BROWSER_TEST = { timeout: 300_000 };

/** By tab: what the answer contains. */
const TABS: Record<string, RegExp> = {
  FindTokens:
    /"symbol": "USDC", "name": "USD Coin", "chain": \{ "name": "Arbitrum" \}.*"price": \{ "usd": 0\.9998 \}/,
  ChainsWithNativeCurrency:
    /"chainKey": "xlayer", "name": "X Layer", .*"nativeCurrency": \{ "symbol": "OKB", "decimals": 18 \}/,
  TokensOfOneChain:
    /"symbol": "ETH", .*"price": \{ "usd": 3120\.45, .*"name": "Ethereum", "nativeCurrency": \{ "symbol": "ETH" \}/,
  WhereTo: /"chain": \{ "name": "Arbitrum" \}, "tokens": \[ \{ "symbol": "USDC", "decimals": 6,/,
  LookUp: /"symbol": "USDC", "name": "USD Coin", "decimals": 6, .*"name": "Ethereum", "caip2": "eip155:1"/,
  StateOfTheListings: /"name": "chains", "source": "demo", "state": "FRESH", .*"lastFailure": null/,
};

let demo: GatewayProcess;
let browser: Browser | undefined;
const atEnd = afterTests();

beforeAll(async () => {
  // Without refreshes, so that prices stay the same.
  demo = await startGatewayProcess({ TOKENS_FRESH_MS: '3600000' }, atEnd);
});

/** Opens an empty page in a new browser profile. `end` decides when it is closed: by default after the test. */
async function newVisitor(options: BrowserContextOptions = {}, end: AtEnd = onTestFinished): Promise<Page> {
  browser ??= await launchBrowser(atEnd);
  const visitor = await browser.newContext(options);
  visitor.setDefaultTimeout(BROWSER_TIMEOUT_MS);
  end(() => visitor.close());
  return visitor.newPage();
}

describe.skipIf(isBrowserMissing)('the playground in a real browser', BROWSER_TEST, () => {
  it('the playground loads from this machine alone, then runs a search and shows its facts, below the label of demo data', async () => {
    const { address } = demo;
    const page = await newVisitor();
    const hosts = new Set<string>();
    const complaints: string[] = [];
    page.on('request', (sent) => hosts.add(new URL(sent.url()).host));
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(error.message));
    let load = () => {};
    const mayLoad = new Promise<void>((resolve) => {
      load = resolve;
    });
    await page.route('**/graphiql.js', async (route) => {
      await mayLoad;
      await route.continue();
    });
    const opened = page.goto(`${address}/graphql`);
    await page.getByText('Loading the playground…').waitFor();
    load();
    await opened;
    await expect.poll(() => page.locator('.result-window').innerText()).toContain('"totalCount"');
    expect(await page.locator('.graphiql-tab-active').innerText()).toBe('FindTokens');
    expect(await page.getByText('Loading the playground…').count()).toBe(0);
    const facts = page.locator('.graphiql-response #answer-facts');
    await expect
      .poll(() => facts.innerText())
      .toMatch(/^\d+ ms · [\d.]+ kB · cost \d+ · gateway; (hit|fwd=miss)$/);
    expect(await page.getByRole('link', { name: 'Schema' }).getAttribute('href')).toBe('/schema.graphql');
    await expect
      .poll(() => workersOf(page))
      .toEqual(['editor.worker.js', 'graphql.worker.js', 'json.worker.js']);

    const label = page.getByText('Demo: prices, routes and some flags are made up');
    const labelBox = await label.boundingBox();
    const box = await page.locator('.graphiql-container').last().boundingBox();
    expect(await page.title()).toBe('Chains and tokens (demo data)');
    expect((labelBox?.y ?? Number.NaN) + (labelBox?.height ?? 0)).toBeLessThanOrEqual(box?.y ?? 0);
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBe(page.viewportSize()?.height);
    const title = page.getByRole('banner').getByText('Chains and tokens');
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 800 });
      const { x, width: wide } = (await title.boundingBox()) ?? { x: Number.NaN, width: 0 };
      expect(x + wide).toBeLessThan(width);
    }
    // The screen of a phone on its side.
    await page.setViewportSize({ width: 844, height: 390 });
    for (const part of ['.graphiql-editors', '#answer-facts']) {
      const { y, height } = (await page.locator(part).boundingBox()) ?? { y: Number.NaN, height: 0 };
      expect(y + height).toBeLessThan(390);
    }
    expect([complaints, [...hosts]]).toEqual([[], [new URL(address).host]]);
    await page.getByRole('link', { name: 'Token picker' }).click();
    await page.waitForURL(`${address}/`);
  });

  it('the playground shows the answer to a link without introspection, too', async () => {
    const { address } = await startGatewayProcess({ INTROSPECTION: 'false' });
    const page = await newVisitor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.postData() ?? ''));
    await page.goto(`${address}/graphql?query=${encodeURIComponent('{ chain(chainKey: "base") { name } }')}`);
    await page.locator('#answer-facts').waitFor();
    // Leaves the page time to show more answers.
    await page.evaluate(() => new Promise((next) => setTimeout(next, 500)));
    await expect.poll(() => page.locator('.result-window').innerText()).toContain('"Base"');
    expect(asked.filter((body) => body.includes('__schema'))).toEqual([]);
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await page.getByText('No GraphQL schema available').waitFor();
  });

  it('the playground works in a browser that forbids storage', async () => {
    const page = await newVisitor();
    const faults: string[] = [];
    page.on('pageerror', ({ message }) => faults.push(message));
    await page.addInitScript(() =>
      Object.defineProperty(window, 'localStorage', {
        get() {
          throw new DOMException('Access is denied for this document.', 'SecurityError');
        },
      }),
    );
    await page.goto(`${demo.address}/graphql`);
    await expect.poll(async () => [faults, await page.locator('.result-window').count()]).toEqual([[], 1]);
    await expect.poll(() => page.locator('.result-window').innerText()).toContain('"symbol"');
  });

  it('the playground shows whole lines of the query and several lines of the answer on phones', async () => {
    const page = await newVisitor({ hasTouch: true, isMobile: true });
    // The page runs the first query only if no tabs are stored.
    await page.addInitScript(() => localStorage.clear());
    for (const viewport of [
      { width: 320, height: 640 },
      { width: 844, height: 390 },
    ]) {
      await page.setViewportSize(viewport);
      await page.goto(`${demo.address}/graphql`);
      await page.locator('#answer-facts').waitFor();
      await expect.poll(() => page.locator('.result-window').innerText()).toContain('"symbol"');
      const editor = page.locator('.graphiql-query-editor');
      const overflow = () =>
        editor.evaluate((element) => {
          const { right } = element.getBoundingClientRect();
          return [...element.querySelectorAll('.view-line > span')].filter(
            (line) => line.getBoundingClientRect().right > right,
          ).length;
        });
      await expect.poll(overflow).toBe(0);
      const lines = () =>
        editor.evaluate((element) => {
          const { bottom } = element.getBoundingClientRect();
          return [...element.querySelectorAll('.view-line')].filter(
            (line) => line.getBoundingClientRect().bottom <= bottom,
          ).length;
        });
      await expect.poll(lines).toBeGreaterThanOrEqual(8);
      expect(await page.locator('.line-numbers').count()).toBe(0);
      const answered = () =>
        page
          .locator('.result-window .view-line')
          .evaluateAll(
            (lines) => lines.filter((line) => line.getBoundingClientRect().bottom < innerHeight).length,
          );
      await expect.poll(answered).toBeGreaterThanOrEqual(5);
    }
  });

  describe('the first view', () => {
    let page: Page;
    beforeAll(async () => {
      page = await newVisitor({ bypassCSP: true, viewport: { width: 1280, height: 720 } }, atEnd);
      await page.goto(`${demo.address}/graphql`);
      await page.locator('#answer-facts').waitFor();
    });

    const styleOf = (place: Locator, name: string) =>
      place.evaluate((element, name) => getComputedStyle(element).getPropertyValue(name), name);

    it('the playground shows addresses without ligatures, and its first query and answer without scrolling', async () => {
      // The editors draw only the visible lines, so the last ones are visible.
      const seen = async (place: string) =>
        (await page.locator(`${place} .view-lines`).innerText()).replaceAll(/\s+/g, ' ');
      await expect.poll(() => seen('.result-window')).toMatch(/"usd": 0\.9998 \} \} \] \} \} \}$/);
      await expect.poll(() => seen('.graphiql-query-editor')).toMatch(/price \{ usd \} \} \} \}$/);
      // A ligature would draw "0x" as "0×".
      const answer = page.locator('.result-window .view-lines');
      expect(await styleOf(answer, 'font-feature-settings')).toContain('"liga" 0');
    });

    it('the playground has the accent of the picker in both themes, and colours that follow axe around its editors', async () => {
      const facts = page.locator('#answer-facts');
      await page.addScriptTag({ path: AXE });
      for (const [colorScheme, accent] of [
        ['light', '245, 61%, 53%'],
        ['dark', '243, 100%, 82%'],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await styleOf(page.locator('.graphiql-container').last(), '--color-primary')).toBe(accent);
        const violations = await page.evaluate(
          `axe.run('#head', { runOnly: ['color-contrast'] }).then(({ violations }) => violations.length)`,
        );
        expect(violations).toBe(0);
        // axe cannot find the background of the facts.
        expect(await styleOf(facts, 'color')).toBe(await styleOf(page.locator('#head a').first(), 'color'));
      }
    });

    it('the playground shows the open tab and the button that runs the query in forced colours', async () => {
      await page.emulateMedia({ colorScheme: 'light', forcedColors: 'active' });
      const button = page.getByRole('button', { name: 'Execute query' });
      expect([
        await styleOf(button, 'background-color'),
        await styleOf(button.locator('svg'), 'color'),
      ]).toEqual(['rgb(91, 80, 224)', 'rgb(255, 255, 255)']);
      const tabs = page.locator('.graphiql-tab');
      const outlines = [tabs.nth(0), tabs.nth(1)].map((tab) => styleOf(tab, 'outline-style'));
      expect(await Promise.all(outlines)).toEqual(['solid', 'none']);
    });
  });

  it('the playground opens with tabs, and has a history, the schema, marks for errors, and an explorer without fields for federation', async () => {
    const { address } = demo;
    const page = await newVisitor();
    const open = async (query = '') => {
      await page.goto(`${address}/graphql${query}`);
      await page.locator('.graphiql-query-editor .view-line').first().waitFor();
    };
    await open();
    expect(await page.locator('.graphiql-tab-button').allTextContents()).toEqual(Object.keys(TABS));
    for (const [tab, answer] of Object.entries(TABS)) await expectAnswer(page, tab, answer);

    await page.reload();
    await page.getByRole('button', { name: 'Show History' }).click();
    await page.locator('.graphiql-history-items').getByText('LookUp').first().waitFor();

    await page.getByRole('button', { name: 'Show GraphiQL Explorer' }).click();
    const fields = page.locator('.graphiql-explorer-root .graphiql-explorer-node:visible');
    await fields
      .filter({ hasText: /^destinations$/ })
      .first()
      .waitFor();
    const names = await fields.allInnerTexts();
    expect(names[0]).toBe('chain');
    expect(names.filter((name) => name.startsWith('_'))).toEqual([]);
    // The fields are hidden, but not missing.
    await open(`?query=${encodeURIComponent('{ _service { sdl } }')}`);
    await page.getByRole('button', { name: 'Execute query' }).click();
    await expect.poll(() => page.locator('.result-window').innerText()).toContain('"sdl"');
    const errors = page.locator('.graphiql-query-editor .squiggly-error');
    expect(await errors.count()).toBe(0);

    await page.locator('.graphiql-query-editor .view-lines').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('{ chains { nickname } }');
    await errors.first().waitFor();
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
    await page.getByRole('link', { name: 'NativeCurrency', exact: true }).waitFor();
  });

  it('the playground fetches its assets once, and on the next visit only the page and the schema', async () => {
    const { address, output } = demo;
    const browserContext = (await newVisitor()).context();
    const served = () =>
      [...output().matchAll(/"path":"(\/graphql\/playground\/[^"]+)"/g)].map(([, path]) => path);
    const assets = assetPathsOf(address);
    const visit = async () => {
      const page = await browserContext.newPage();
      await page.goto(`${address}/graphql`);
      await expect.poll(() => workersOf(page)).toHaveLength(3);
      // Requests that are unfinished when the page closes are sent again.
      await expect.poll(async () => (await assets).filter((path) => !served().includes(path))).toEqual([]);
      await sleep(1_000);
      await page.close();
    };
    const others = served().length;
    await visit();
    // Workers that start at the same time may each fetch their shared files.
    const first = new Set(served().slice(others));
    expect(first).toContainEqual(expect.stringContaining('/graphiql.js'));
    const servedToVisit = async () => {
      const before = served().length;
      await visit();
      return served().slice(before);
    };
    // This is retried, because a busy browser may not have stored everything before the page closed.
    await expect.poll(servedToVisit).toEqual([]);
  });
});

it('the playground compresses every asset without loss, to less than 3 MB in all, under cacheable paths that change with the content', async () => {
  const { address } = demo;
  const assets = await assetPathsOf(address);
  expect(assets).toHaveLength(10);
  const bytes = { plain: 0, br: 0 };
  for (const path of assets) {
    const plain = await get(address, path);
    const br = await get(address, path, { 'accept-encoding': 'gzip, deflate, br, zstd' });
    expect([plain.status, br.headers.etag]).toEqual([200, plain.headers.etag]);
    expect(br.headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(br.body).equals(plain.body)).toBe(true);
    bytes.plain += plain.body.length;
    bytes.br += br.body.length;
    expect(path).toMatch(/^\/graphql\/playground\/[\w-]{16}\/[\w.]+$/);
    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'Accept-Encoding',
    });
  }
  expect(bytes.br).toBeLessThan(3_000_000);
  expect(bytes.plain).toBeGreaterThan(8_000_000);
});

function workersOf(page: Page): string[] {
  return [...new Set(page.workers().map((worker) => worker.url().replace(/.*\//, '')))].sort();
}

/** Chooses a tab and runs its query. Waits for this answer, in single spaces. */
async function expectAnswer(page: Page, tab: string, answer: RegExp): Promise<void> {
  if ((await page.locator('.graphiql-tab-active').innerText()) !== tab) {
    await page.getByRole('button', { name: tab, exact: true }).click();
    // When the address has the query, GraphiQL knows which operation the button runs.
    await page.waitForURL((url) => url.searchParams.get('query')?.includes(`query ${tab}`) === true);
  }
  await page.getByRole('button', { name: 'Execute query' }).click();
  const seen = async () => (await page.locator('.result-window').innerText()).replace(/\s+/g, ' ');
  await expect.poll(seen).toMatch(answer);
}

/** The addresses of all assets: those in the page, and those of the workers and modules in its script. */
async function assetPathsOf(address: string): Promise<string[]> {
  const namedIn = async (path: string, pattern: RegExp) =>
    (await get(address, path)).body.toString().match(pattern) ?? [];
  // The page names its icon twice.
  const paths = [...new Set(await namedIn('/graphql', /\/graphql\/playground\/[\w./-]+/g))];
  const start = paths.find((path) => path.endsWith('/start.js')) ?? '';
  const besideIt = await namedIn(start, /(?<=')\.\/[\w.]+\.js(?=')/g);
  return [...paths, ...besideIt.map((name) => start.replace(/start\.js$/, name.slice(2)))];
}
