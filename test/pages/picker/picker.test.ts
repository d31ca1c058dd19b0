import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { isBrowserMissing, launchBrowser, PATIENCE_MS } from '../../support/browser.js';
import { type FakeListings, json, startFakeUpstream, status } from '../../support/fake-upstream.js';
import { ask, startGatewayProcess } from '../../support/gateway-process.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const BROWSER_TEST = { timeout: 300_000 };
const USDC_ON_ETHEREUM = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';

/** What the page sent to the graph. */
interface Sent {
  readonly query: string;
  readonly variables: Record<string, unknown>;
}

interface Answer {
  readonly data: { readonly tokenSearch: { readonly edges: readonly { node: { id: string } }[] } };
}

describe.skipIf(isBrowserMissing)('The picker in a real browser', BROWSER_TEST, () => {
  let browser: Browser;
  let demo: string;
  const ends: (() => Promise<void>)[] = [];
  const atEnd = (end: () => Promise<void>) => ends.push(end);

  beforeAll(async () => {
    browser = await launchBrowser(atEnd);
    demo = (await startGatewayProcess({}, atEnd)).address;
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  /** Opens the page, and keeps what it sends and what the browser complains of. */
  async function open(address: string, options: BrowserContextOptions = {}) {
    const browserContext = await browser.newContext(options);
    browserContext.setDefaultTimeout(PATIENCE_MS);
    onTestFinished(() => browserContext.close());
    const page = await browserContext.newPage();
    const sent: Sent[] = [];
    const hosts = new Set<string>();
    const complaints: string[] = [];
    page.on('request', (request) => {
      hosts.add(new URL(request.url()).host);
      const body = request.postData();
      if (body) sent.push(JSON.parse(body) as Sent);
    });
    page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(address);
    return { page, sent, hosts, complaints, ...partsOf(page) };
  }

  it('finds what is typed, best first, and says how much that is', async () => {
    const { page, search, rows } = await open(demo);
    await search.fill('usdc');
    await page.getByText('89 tokens found for “usdc”').waitFor();

    expect(await rows.count()).toBe(50);
    expect(await rows.first().innerText()).toMatch(/^USDC\s+USD Coin Ethereum\s+\$1\.00\s+\d+ (s|min) ago$/);
    for (const text of await rows.allInnerTexts()) expect(text).toMatch(/usdc/i);
  });

  it('is used by keyboard alone: search, choose, read the destinations, clear', async () => {
    const { page, search, rows, destinations } = await open(demo);
    await rows.first().waitFor();
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').innerText()).toBe('Skip to the search');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator(':focus').getAttribute('id')).toBe('search');

    await page.keyboard.type('usdc ethereum');
    await page.getByText(/found for “usdc ethereum”$/).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('End');
    await page.keyboard.press('Home');
    const active = rows.first();
    expect(await search.getAttribute('aria-activedescendant')).toBe(await active.getAttribute('id'));
    await page.keyboard.press('Enter');

    await destinations.getByText('35 tokens on 35 chains').waitFor();
    expect(await active.getAttribute('aria-selected')).toBe('true');
    expect(await page.getByRole('heading', { name: 'USDC', exact: true }).isVisible()).toBe(true);
    const group = destinations
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name: 'Base' }) });
    expect((await group.innerText()).replace(/\s+/g, ' ')).toBe('Base 1 USDC USD Coin 6 decimals');

    await page.keyboard.press('Escape');
    await page.getByText('587 tokens found').waitFor();
    expect(await search.inputValue()).toBe('');
    expect(await page.locator(':focus').getAttribute('id')).toBe('search');
  });

  it('lets no symbol or name turn its neighbours round', async () => {
    const turned = '\u202eabc';
    const upstream = await startFakeUpstream({
      chains: [chainRow('a', { name: 'Chain' })],
      tokens: [tokenRow('a', '0x1', { symbol: turned, name: turned, isBridgeable: false })],
    });
    onTestFinished(upstream.close);
    const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url });
    const { rows } = await open(address);
    await rows.first().waitFor();
    /** Where the first and the last letter of an element's text stand, from the left. */
    const places = await rows.first().evaluate((row) =>
      ['.subtitle > span', '.on'].map((part) => {
        const element = row.querySelector(part);
        const text = element && document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
        if (!text) throw new Error(`Expected a text in ${part}`);
        return [/[ac]/i, /[n]|c$/].map((letter) => {
          const range = document.createRange();
          const at = text.textContent?.search(letter) ?? 0;
          range.setStart(text, at);
          range.setEnd(text, at + 1);
          return range.getBoundingClientRect().left;
        });
      }),
    );
    const [[a = 0, c = 0] = [], [chainBegin = 0, chainEnd = 0] = []] = places;
    // The name is turned round, as it says, and what follows it is not.
    expect(c).toBeLessThan(a);
    expect(chainBegin).toBeGreaterThan(a);
    expect(chainEnd).toBeGreaterThan(chainBegin);
  });

  it('gives who types fast the first of what was typed last, never of an older answer', async () => {
    const { page, search, destinations } = await open(demo);
    await page.getByText('587 tokens found').waitFor();
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('"query":"eth"'))
        await new Promise((go) => setTimeout(go, 400));
      await route.continue().catch(() => {});
    });
    await search.fill('eth');
    await page.waitForRequest((request) => request.postData()?.includes('"query":"eth"') === true);
    await search.fill('usdt');
    await search.press('Enter');

    await destinations.getByText(/^\d+ tokens on \d+ chains$/).waitFor();
    expect(await page.locator('#chosen-title').innerText()).toMatch(/^USDT/);
    await page.waitForTimeout(500);
    expect(await page.locator('#found').innerText()).toMatch(/ found for “usdt”$/);
  });

  it('finds a pasted address in any letter case', async () => {
    const { page, search, rows } = await open(demo);
    await search.fill(USDC_ON_ETHEREUM);
    await page.getByText(`1 token found for “${USDC_ON_ETHEREUM}”`).waitFor();
    expect(await rows.allInnerTexts()).toEqual([expect.stringMatching(/^USDC\s+USD Coin Ethereum\s/)]);
  });

  it('keeps to a chain that is chosen by keyboard, and names all with their counts', async () => {
    const { page, rows, sent } = await open(demo);
    const { chains } = (
      await ask<{ chains: { name: string; tokenCount: number }[] }>(demo, '{ chains { name tokenCount } }')
    ).data;
    await page.getByRole('button', { name: 'Chain All chains' }).press('Enter');
    const radios = page.getByRole('dialog', { name: 'Chain' }).getByRole('radio');
    await expect.poll(() => radios.count()).toBe(chains.length + 1);
    const names = await page.locator('#chain-choices label').allInnerTexts();
    const expected = chains
      .map(({ name, tokenCount }) => `${name} ${tokenCount}`)
      .sort(new Intl.Collator('en', { numeric: true }).compare);
    expect(names.map((name) => name.replace(/\s+/g, ' '))).toEqual(['All chains', ...expected]);

    await page.keyboard.type('bas');
    await page.keyboard.press('Enter');
    await page.getByText('37 tokens found').waitFor();
    expect(sent.findLast(({ query }) => query.includes('tokenSearch'))?.variables).toEqual({
      query: '',
      filter: { chainKeys: ['base'] },
      first: 50,
    });
    for (const text of await rows.allInnerTexts()) expect(text).toMatch(/ Base\n/);
    expect(new URL(page.url()).search).toBe('?chain=base');
  });

  it('loads page after page until all were there once, and keeps the focus', async () => {
    const { page, rows } = await open('about:blank');
    const ids: string[] = [];
    page.on('response', async (response) => {
      if (!response.request().postData()?.includes('tokenSearch')) return;
      const { data } = (await response.json()) as Answer;
      ids.push(...data.tokenSearch.edges.map(({ node }) => node.id));
    });
    await page.goto(demo);
    const more = page.getByRole('button', { name: 'Load more' });
    await more.focus();
    for (let shown = 50; shown < 587; shown += 50) {
      await expect.poll(() => rows.count()).toBe(shown);
      await page.keyboard.press('Enter');
    }
    await expect.poll(() => rows.count()).toBe(587);

    await expect.poll(() => ids.length).toBe(587);
    expect(new Set(ids).size).toBe(587);
    expect(await more.isVisible()).toBe(false);
    expect(await page.getByRole('listbox').evaluate((list) => list === document.activeElement)).toBe(true);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    expect(await page.getByRole('listbox').getAttribute('aria-activedescendant')).toBe('token-1');
  });

  it('shows the very queries that it sent, and opens each in the playground with its variables', async () => {
    const { page, rows, sent, destinations } = await open(`${demo}/?q=usdc&chain=base`);
    await rows.first().click();
    await destinations.getByText('35 tokens on 35 chains').waitFor();
    const operations = page.getByRole('group', { name: 'Operation' });
    await expect.poll(() => operations.getByRole('radio').count()).toBe(4);
    for (const name of ['Tokens', 'Chains', 'Listings', 'Destinations']) {
      await operations.getByRole('radio', { name, exact: true }).check();
      const { query, variables } = await shownQuery(page);
      const last = sent.findLast((one) => one.query.startsWith(`query ${name}`));
      expect({ query, variables }).toEqual(last);
    }

    // Twice, since the playground has tabs of its own in a browser that it has been opened in.
    for (const name of ['Tokens', 'Destinations']) {
      await operations.getByRole('radio', { name, exact: true }).check();
      const { query, variables } = await shownQuery(page);
      await page.getByRole('link', { name: 'Open in the playground' }).click();
      await page.locator('.graphiql-query-editor .view-line').first().waitFor();
      expect(await page.locator('.graphiql-tab-active').innerText()).toBe(name);
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.request().postData()?.includes(`query ${name}`) === true),
        page.getByRole('button', { name: 'Execute query' }).click(),
      ]);
      expect(JSON.parse(answer.request().postData() ?? '').variables).toEqual(variables);
      expect(withoutPrices(await answer.json())).toEqual(withoutPrices(await ask(demo, query, variables)));
      await page.goto(`${demo}/?q=usdc&chain=base`);
      await rows.first().click();
      await destinations.getByText('35 tokens on 35 chains').waitFor();
    }
  });

  it('shows after a reload what it showed before, without a complaint or a request elsewhere', async () => {
    const { page, search, rows, destinations, hosts, complaints } = await open(demo);
    await search.fill('eth arb');
    await page.getByText(/found for “eth arb”$/).waitFor();
    await rows.first().click();
    await destinations.getByText(/^\d+ tokens on \d+ chains$/).waitFor();
    const seen = async () => [
      await page.locator('#chosen h2, #destinations h3, #found').allInnerTexts(),
      await rows.locator('.title').allInnerTexts(),
      await rows.first().getAttribute('aria-selected'),
    ];
    const before = await seen();
    await page.reload();
    await destinations.getByText(/^\d+ tokens on \d+ chains$/).waitFor();
    await expect.poll(seen).toEqual(before);

    await page.goto(`${demo}/?token=unknown&chain=nowhere`);
    await destinations.getByText('The token in this link is not listed. Choose another one.').waitFor();
    await page.getByText('No tokens found').waitFor();
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(demo).host]);
  });

  it('says how the listings stand, and lets ages go on without asking', async () => {
    const { page, rows, sent } = await open(demo);
    const table = page.getByRole('region', { name: 'Listings' }).getByRole('table');
    const line = async (name: string) =>
      (await table.getByRole('row', { name }).innerText()).replace(/\s+/g, ' ');
    await expect.poll(() => line('chains')).toMatch(/^chains FRESH \d+ (s|min) old 108 0 demo$/);
    expect(await line('tokens')).toMatch(/^tokens FRESH \d+ (s|min) old 587 0 demo$/);
    const age = rows.first().locator('time');
    const before = await age.innerText();
    const asked = sent.length;
    await expect.poll(() => age.innerText(), { interval: 200 }).not.toBe(before);
    expect(sent).toHaveLength(asked);
    expect(await page.getByText(/^Demo data: /).isVisible()).toBe(true);
  });

  it.each([
    ['light', 1440],
    ['dark', 390],
  ] as const)('meets the rules of accessibility in %s at %d pixels, and fits', async (colorScheme, width) => {
    const { page, search, rows, destinations } = await open(`${demo}/?q=usdc%20base`, {
      bypassCSP: true,
      colorScheme,
      viewport: { width, height: 800 },
    });
    await page.addScriptTag({ path: AXE });
    const faults = async () => {
      expect(
        await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
      const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
        'axe.run()',
      );
      return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
    };
    await rows.first().click();
    await destinations.getByText('35 tokens on 35 chains').waitFor();
    expect(await faults()).toEqual([]);
    await page.getByRole('button', { name: /^Chain / }).click();
    expect(await faults()).toEqual([]);
    await page.keyboard.press('Escape');
    await page.route('**/graphql', (route) => route.abort());
    await search.fill('eth');
    await page.getByText('The gateway does not answer.').first().waitFor();
    expect(await faults()).toEqual([]);

    const { color, background } = await page.locator('body').evaluate((body) => {
      const { color, backgroundColor: background } = getComputedStyle(body);
      return { color, background };
    });
    expect(luminanceOf(background) > luminanceOf(color)).toBe(colorScheme === 'light');
  });

  it('keeps what it shows while the gateway is away, says so, and goes on when it is back', async () => {
    const { address, child, exited } = await startGatewayProcess();
    const { page, search, rows, destinations } = await open(`${address}/?q=usdc`);
    await rows.first().click();
    await destinations.getByText('35 tokens on 35 chains').waitFor();
    child.kill('SIGKILL');
    await exited;
    await search.fill('usdt');
    await page
      .getByRole('alert')
      .getByText('The gateway does not answer. Check that it is running.')
      .first()
      .waitFor();

    expect(await page.locator('#found').innerText()).toBe('Still shown: 89 tokens found for “usdc”');
    expect(await rows.count()).toBe(50);
    expect(await destinations.getByText('35 tokens on 35 chains').isVisible()).toBe(true);

    await startGatewayProcess({ PORT: new URL(address).port });
    await page.getByText(/^\d+ tokens found for “usdt”$/).waitFor();
    await expect.poll(() => page.getByRole('alert').allInnerTexts()).toEqual(['', '', '']);
  });

  it('says what the upstream could not answer, and what it has no answer to', async () => {
    const upstream = await startOdd();
    const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url, UPSTREAM_RETRIES: '0' });
    const { rows, destinations } = await open(`${address}/?q=odd`);
    upstream.plan('tokens', status(404));
    await rows.first().click();
    await destinations.getByText('UPSTREAM_STATUS').waitFor();
    expect(await rows.count()).toBe(1);

    upstream.plan('tokens', json({ tokens: [] }));
    await destinations.getByRole('button', { name: 'Try again' }).click();
    await destinations.getByText('The upstream lists no token that this one can be moved to.').waitFor();
    expect(await destinations.getByText('UPSTREAM_STATUS').count()).toBe(0);
  });

  it('shows names as they are written, as text and nothing else', async () => {
    const upstream = await startOdd();
    const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url });
    const { page, rows, complaints, hosts } = await open(address, { viewport: { width: 360, height: 700 } });
    await expect.poll(() => rows.count()).toBe(2);
    await rows.first().click();

    expect(await rows.filter({ hasText: 'Odd' }).innerText()).toMatch(
      /^<img src=x onerror=alert\(1\)>\s+native\s+not bridgeable\s+Odd <b>one<\/b> <i>A<\/i>\s+no price$/,
    );
    expect(await page.locator('main img, main b, main i').count()).toBe(0);
    expect(await rows.locator('.price').allInnerTexts()).toContain('$0.0000001235');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect(await page.content()).not.toMatch(/demo/i);
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(address).host]);
  });

  it('brings newer prices by itself, and leaves where a person is', async () => {
    const { address } = await startGatewayProcess({ TOKENS_FRESH_MS: '200' });
    const { page, search, rows, destinations } = await open(`${address}/?q=usdc`);
    await rows.nth(1).click();
    await destinations.getByText('35 tokens on 35 chains').waitFor();
    const kept = await rows.nth(1).elementHandle();
    const times = () =>
      page
        .locator('.active time, #chosen time')
        .evaluateAll((all) => all.map((time) => time.getAttribute('datetime')));
    const before = await times();
    await page.getByRole('table').getByText('tokens').waitFor();
    await expect
      .poll(
        async () => {
          await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
          return (await times()).filter((time, index) => time === before[index]);
        },
        { interval: 300 },
      )
      .toEqual([]);
    expect(before).toHaveLength(2);
    expect(await kept?.getAttribute('aria-selected')).toBe('true');
    expect(await page.getByRole('radio', { name: 'Destinations' }).isChecked()).toBe(true);
    expect(await search.inputValue()).toBe('usdc');
  });

  it('needs neither introspection nor the playground', async () => {
    const { address } = await startGatewayProcess({ INTROSPECTION: 'false', GRAPHIQL: 'false' });
    const { page, rows, destinations } = await open(`${address}/?q=usdc`);
    await rows.first().click();
    await destinations.getByText('35 tokens on 35 chains').waitFor();
    expect((await shownQuery(page)).query).toContain('destinations(');
    expect(await page.getByRole('link', { name: 'Open in the playground' }).count()).toBe(0);
  });
});

/** What people with screen readers find their way by. */
function partsOf(page: Page) {
  return {
    search: page.getByRole('searchbox', { name: 'Search tokens' }),
    rows: page.getByRole('option'),
    destinations: page.getByRole('region', { name: 'Destinations' }),
  };
}

async function shownQuery(page: Page): Promise<Sent> {
  const query = await page.getByRole('group', { name: 'Query' }).innerText();
  const variables = page.getByRole('group', { name: 'Variables' });
  return { query, variables: (await variables.count()) === 0 ? {} : JSON.parse(await variables.innerText()) };
}

/** Prices drift between two answers. */
function withoutPrices(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (name, value: unknown) => (name === 'price' ? undefined : value)));
}

function luminanceOf(color: string): number {
  return (color.match(/[\d.]+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
}

/** An upstream whose two tokens have what a page could stumble over. */
async function startOdd() {
  const native = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
  const listings: FakeListings = {
    chains: [
      {
        chainKey: 'a',
        chainType: 'evm',
        chainId: 1,
        shortName: 'A',
        name: '<i>A</i>',
        nativeCurrency: { chainKey: 'a', name: 'E', symbol: 'E', decimals: 18, address: native },
      },
    ],
    tokens: [
      {
        isBridgeable: false,
        chainKey: 'a',
        address: native,
        decimals: 18,
        symbol: '<img src=x onerror=alert(1)>',
        name: 'Odd <b>one</b>',
      },
      {
        isBridgeable: true,
        chainKey: 'a',
        address: '0x2',
        decimals: 6,
        symbol: 'W'.repeat(120),
        name: 'Long '.repeat(60),
        price: { usd: 0.00000012345 },
      },
    ],
  };
  const upstream = await startFakeUpstream(listings);
  onTestFinished(() => upstream.close());
  return upstream;
}
