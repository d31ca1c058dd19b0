import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { isBrowserMissing, launchBrowser } from '../../support/browser.js';
import { type FakeListings, json, startFakeUpstream, status } from '../../support/fake-upstream.js';
import { freePort } from '../../support/free-port.js';
import { ask, startGatewayProcess } from '../../support/gateway-process.js';
import { inOneLine, openPicker, type Sent } from './open-picker.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const BROWSER_TEST = { timeout: 300_000 };
const USDC_ON_ETHEREUM = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';

interface Answer {
  readonly data: { readonly tokenSearch: { readonly nodes: readonly { id: string }[] } };
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

  const open = (address: string, options?: BrowserContextOptions) => openPicker(browser, address, options);

  it('finds what is typed, best first, and says how much that is', async () => {
    const { page, search, rows } = await open(demo);
    await search.fill('usdc');
    await page.getByText('89 tokens found for “usdc”').waitFor();

    expect(await rows.count()).toBe(50);
    expect(inOneLine(await rows.first().innerText())).toMatch(/^USDC \S.* USD Coin \$1\.00$/);
    for (const text of await rows.allInnerTexts()) expect(text).toMatch(/usdc/i);
  });

  it('is used by keyboard alone: search, choose, read the destinations, clear', async () => {
    const { page, search, rows, destinations, destinationRows } = await open(demo);
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
    const onBase = destinationRows.filter({ hasText: 'Base' });
    expect(inOneLine(await onBase.innerText())).toBe('USDC Base USD Coin 6 decimals');

    await page.keyboard.press('Escape');
    await page.getByText('587 tokens found').waitFor();
    expect(await search.inputValue()).toBe('');
    expect(await page.locator(':focus').getAttribute('id')).toBe('search');
  });

  it('shows characters that are not seen as marks, and lets none turn its neighbours round', async () => {
    const upstream = await startFakeUpstream({
      chains: [chainRow('a', { name: 'Chain' })],
      tokens: [tokenRow('a', '0x1', { symbol: 'US\u200bDC', name: '\u202eabc', isBridgeable: false })],
    });
    onTestFinished(upstream.close);
    const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url });
    const { page, rows } = await open(address);
    await rows.first().waitFor();
    expect(inOneLine(await rows.first().innerText())).toMatch(
      /^USU\+200BDC Chain cannot be moved U\+202Eabc (\$|no price)/,
    );
    expect(await rows.locator('.mark').allInnerTexts()).toEqual(['U+200B', 'U+202E']);
    expect(await page.locator('main').innerText()).not.toMatch(/[\u200b\u202e]/);
  });

  it('gives who types fast the first of what was typed last, never of an older answer', async () => {
    const { page, search, destinations } = await open(demo);
    await page.getByText('587 tokens found').waitFor();
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('"query":"eth"'))
        await new Promise((go) => setTimeout(go, 400));
      await route.continue().catch(() => {});
    });
    await Promise.all([
      page.waitForRequest((request) => request.postData()?.includes('"query":"eth"') === true),
      search.fill('eth'),
    ]);
    await search.fill('usdt');
    await search.press('Enter');

    await page.locator('#chosen-title', { hasText: /^USDT/ }).waitFor();
    await destinations.getByText(/^\d+ tokens on \d+ chains$/).waitFor();
    await page.waitForTimeout(500);
    expect(await page.locator('#found').innerText()).toMatch(/ found for “usdt”$/);
  });

  it('finds a pasted address in any letter case', async () => {
    const { page, search, rows } = await open(demo);
    await search.fill(USDC_ON_ETHEREUM);
    await page.getByText(`1 token found for “${USDC_ON_ETHEREUM}”`).waitFor();
    expect(await rows.allInnerTexts()).toEqual([expect.stringMatching(/^USDC\s+Ethereum\s+USD Coin\s/)]);
  });

  it('keeps to a chain that is found by keyboard, among all with their counts', async () => {
    const { page, rows, sent } = await open(demo);
    const { chains } = (
      await ask<{ chains: { name: string; tokenCount: number }[] }>(demo, '{ chains { name tokenCount } }')
    ).data;
    await page.getByRole('button', { name: 'Chain All chains' }).press('Enter');
    const box = page.getByRole('combobox', { name: 'Search chains' });
    const options = page.getByRole('dialog', { name: 'Chain' }).getByRole('option');
    await expect.poll(() => options.count()).toBe(chains.length + 1);
    const texts = (await options.allInnerTexts()).map(inOneLine);
    expect(texts[0]).toBe('All chains');
    expect(texts.toSorted()).toEqual(
      ['All chains', ...chains.map(({ name, tokenCount }) => `${name} ${tokenCount}`)].toSorted(),
    );
    const counts = texts.slice(1).map((text) => Number(text.replace(/.* /, '')));
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));

    await page.keyboard.type('zzz');
    await page.getByText('No chain found. Clear the text to see all of them.').waitFor();
    // At once: the first of what "b" finds is the same, and a later answer would take the active row away.
    await box.fill('bas');
    await expect.poll(() => options.first().innerText()).toMatch(/^Base/);
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => box.getAttribute('aria-activedescendant')).toBe('chain-0');
    await page.keyboard.press('Enter');
    await page.getByText('37 tokens found').waitFor();
    expect(
      await page
        .getByRole('button', { name: 'Chain Base' })
        .evaluate((one) => one === document.activeElement),
    ).toBe(true);
    expect(sent.findLast(({ query }) => query.includes('tokenSearch'))?.variables).toEqual({
      query: '',
      filter: { chainKeys: ['base'] },
      first: 50,
    });
    for (const text of await rows.allInnerTexts()) expect(text).toMatch(/\nBase\n/);
    expect(new URL(page.url()).search).toBe('?chain=base');

    await page.getByLabel('Can be moved').press('Space');
    await expect
      .poll(() => sent.findLast(({ query }) => query.includes('tokenSearch'))?.variables.filter)
      .toEqual({ chainKeys: ['base'], isBridgeable: true });
    await page.getByText('15 tokens found').waitFor();
    expect(await rows.filter({ hasText: 'cannot be moved' }).count()).toBe(0);
  });

  it('offers ways out of an empty result', async () => {
    const { page, search, rows } = await open(`${demo}/?q=etherem&movable=true&chain=ethereum`);
    const nothing = page.getByText('No listed token matches.');
    await nothing.waitFor();
    await page.getByRole('button', { name: 'Did you mean Ethereum?' }).click();
    await rows.first().waitFor();
    expect(await search.inputValue()).toBe('Ethereum');
    expect(await nothing.isVisible()).toBe(false);

    await search.fill('no such token');
    await page.getByRole('button', { name: 'Include tokens that cannot be moved' }).click();
    await page.getByRole('button', { name: 'Search all chains' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?q=no+such+token');
    expect(await page.getByRole('button', { name: 'Chain All chains' }).isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Clear the search' }).click();
    await page.getByText('587 tokens found').waitFor();
    expect(await search.evaluate((box) => box === document.activeElement)).toBe(true);
  });

  it('tells apart by their addresses rows that look alike, and only those', async () => {
    const upstream = await startFakeUpstream({
      chains: [
        chainRow('a', { name: 'A chain with a long name, which is not cut whatever the width of the row' }),
      ],
      tokens: [
        tokenRow('a', '0x1111110000000000000000000000000000002222', { symbol: 'TWIN' }),
        tokenRow('a', '0x1111330000000000000000000000000000002222', { symbol: 'twin' }),
        tokenRow('a', '0x3333330000000000000000000000000000004444', { symbol: 'ELSE' }),
        tokenRow('a', '0x5555550000000000000000000000000000006666', { symbol: 'PAIR' }),
        tokenRow('a', '0x7777770000000000000000000000000000008888', { symbol: 'PAIR' }),
      ],
    });
    onTestFinished(upstream.close);
    const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url });
    const { rows } = await open(address, { viewport: { width: 320, height: 640 } });
    await expect.poll(() => rows.count()).toBe(5);
    const addressesOf = (symbol: RegExp) => rows.filter({ hasText: symbol }).locator('code').allInnerTexts();
    // Their short forms are equal, so they are whole.
    expect((await addressesOf(/^twin/i)).sort()).toEqual([
      '0x1111110000000000000000000000000000002222',
      '0x1111330000000000000000000000000000002222',
    ]);
    expect((await addressesOf(/^PAIR/)).sort()).toEqual(['0x5555…6666', '0x7777…8888']);
    expect(await addressesOf(/^ELSE/)).toEqual([]);
    const isCut = await rows
      .locator('.on')
      .evaluateAll((all) => all.map((one) => one.scrollWidth > one.clientWidth + 1));
    expect(isCut).toEqual(Array(5).fill(false));
  });

  it('dims the rows of an older search while an answer is awaited, and says so', async () => {
    const { page, search } = await open(demo);
    await page.getByText('587 tokens found').waitFor();
    let answer = () => {};
    const mayAnswer = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route('**/graphql', async (route) => {
      await mayAnswer;
      await route.continue().catch(() => {});
    });
    await search.fill('usdt');
    await page.getByText('Searching…').waitFor();
    const opacity = () =>
      page.getByRole('listbox', { name: 'Tokens' }).evaluate((list) => getComputedStyle(list).opacity);
    expect(await opacity()).toBe('0.5');
    answer();
    await page.getByText(/found for “usdt”$/).waitFor();
    expect(await opacity()).toBe('1');
  });

  it('loads page after page until all were there once, and keeps the focus', async () => {
    // With one listing throughout: the page asks again for the rows that it shows when there is a newer one.
    const { address } = await startGatewayProcess({ TOKENS_FRESH_MS: '3600000' });
    await ask(address, '{ chains { id } tokens { id } }');
    const { page, rows } = await open('about:blank');
    const ids: string[] = [];
    page.on('response', async (response) => {
      if (!response.request().postData()?.includes('tokenSearch')) return;
      const { data } = (await response.json()) as Answer;
      ids.push(...data.tokenSearch.nodes.map(({ id }) => id));
    });
    await page.goto(address);
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
    expect(
      await page.getByRole('listbox', { name: 'Tokens' }).evaluate((list) => list === document.activeElement),
    ).toBe(true);
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    expect(await page.getByRole('listbox', { name: 'Tokens' }).getAttribute('aria-activedescendant')).toBe(
      'token-1',
    );
  });

  it('shows the very queries that it sent, and opens each in the playground with its variables', async () => {
    const { page, rows, sent, destinations } = await open(`${demo}/?q=usdc&chain=base`);
    await rows.first().click();
    await destinations.getByText('35 tokens on 35 chains').waitFor();
    const operations = page.getByRole('group', { name: 'Operation' });
    await expect.poll(() => operations.getByRole('radio').count()).toBeGreaterThanOrEqual(4);
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
      await page.locator('#chosen h2, #destination-list .title, #found').allInnerTexts(),
      await rows.locator('.title').allInnerTexts(),
      await rows.first().getAttribute('aria-selected'),
    ];
    const before = await seen();
    await page.reload();
    await destinations.getByText(/^\d+ tokens on \d+ chains$/).waitFor();
    await expect.poll(seen).toEqual(before);

    await page.goto(`${demo}/?token=base:unknown&chain=nowhere`);
    await destinations.getByText('The token in this link is not listed. Choose another one.').waitFor();
    await page.getByText('No tokens found').waitFor();
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(demo).host]);
  });

  it('says how the listings stand, and lets ages go on without asking', async () => {
    const { page, sent } = await open(demo);
    const table = page.getByRole('region', { name: 'Listings' }).getByRole('table');
    const line = async (name: string) =>
      (await table.getByRole('row', { name }).innerText()).replace(/\s+/g, ' ');
    await expect.poll(() => line('chains')).toMatch(/^chains FRESH \d+ (s|min) old 108 0 demo$/);
    await expect.poll(() => line('tokens')).toMatch(/^tokens FRESH \d+ (s|min) old 587 0 demo$/);
    const age = page.getByText(/^Prices from \d+ (s|min) ago$/).first();
    // Again where the page asked for something else meanwhile: for how the listings stand, each ten seconds.
    await expect
      .poll(async () => {
        const [before, asked] = [await age.innerText(), sent.length];
        await expect.poll(() => age.innerText(), { interval: 200 }).not.toBe(before);
        return sent.length - asked;
      })
      .toBe(0);
    expect(await page.getByText(/^Demo data: /).isVisible()).toBe(true);
  });

  it('warns above the list of prices that are not up to date', async () => {
    const upstream = await startOdd();
    const { address } = await startGatewayProcess({
      UPSTREAM_URL: upstream.url,
      UPSTREAM_RETRIES: '0',
      TOKENS_FRESH_MS: '500',
    });
    const { page, rows } = await open(address);
    await expect.poll(() => rows.count()).toBe(2);
    upstream.plan('tokens', status(500));
    const line = page.locator('#state');
    await expect
      .poll(async () => {
        await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
        return inOneLine(await line.innerText());
      })
      .toMatch(/^Not up to date: prices from \d+ (s|min) ago\.$/);
    expect(await line.locator('.warned').count()).toBe(1);
  });

  it.each([
    ['light', 1440],
    ['dark', 320],
    ['dark', 2560],
  ] as const)('meets the rules of accessibility in %s at %d pixels, and fits', async (colorScheme, width) => {
    const { page, search, rows, destinations, destinationRows, pair } = await open(`${demo}/?q=usdc%20base`, {
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
    await rows.first().waitFor();
    // The list comes first, on a phone, too.
    const firstRow = await rows.first().boundingBox();
    expect((firstRow?.y ?? 0) + (firstRow?.height ?? 0)).toBeLessThan(640);
    await rows.first().click();
    await destinations.getByText('35 tokens on 35 chains').waitFor();
    await destinationRows.first().click();
    await pair.getByText('Variables for a quote').first().waitFor();
    expect(await faults()).toEqual([]);
    await page.getByRole('button', { name: /^Chain / }).click();
    await page.getByRole('dialog', { name: 'Chain' }).getByRole('option').nth(1).waitFor();
    expect(await faults()).toEqual([]);
    await page.keyboard.press('Escape');
    await search.fill('usdcc');
    await page.getByRole('button', { name: 'Did you mean USDC?' }).waitFor();
    expect(await faults()).toEqual([]);
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
    const PORT = String(await freePort());
    const { address, child, exited } = await startGatewayProcess({ PORT });
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

    // The first alert may be that of the listings.
    await expect
      .poll(() => page.locator('#found').innerText())
      .toBe('Still shown: 89 tokens found for “usdc”');
    expect(await rows.count()).toBe(50);
    expect(await destinations.getByText('35 tokens on 35 chains').isVisible()).toBe(true);

    await startGatewayProcess({ PORT });
    await page.getByText(/^\d+ tokens found for “usdt”$/).waitFor();
    await expect.poll(() => page.getByRole('alert').allInnerTexts()).toEqual(['', '', '']);
  });

  it('says what the upstream could not answer, and what it has no answer to', async () => {
    const upstream = await startOdd();
    const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url, UPSTREAM_RETRIES: '0' });
    const { rows, destinations } = await open(`${address}/?q=odd`);
    await rows.first().waitFor();
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
      /^<img src=x onerror=alert\(1\)>\s+<i>A<\/i>\s+native\s+cannot be moved\s+Odd <b>one<\/b>\s+no price$/,
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
        .locator('#state time, #chosen time')
        .evaluateAll((all) => all.map((time) => time.getAttribute('datetime')));
    await page.getByRole('table').getByText('tokens').waitFor();
    await expect.poll(async () => (await times()).length).toBe(2);
    const before = await times();
    await expect
      .poll(
        async () => {
          await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
          return (await times()).filter((time, index) => time === before[index]);
        },
        { interval: 300 },
      )
      .toEqual([]);
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
