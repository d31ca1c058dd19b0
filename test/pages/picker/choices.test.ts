import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { isBrowserMissing, launchBrowser } from '../../support/browser.js';
import { startFakeUpstream } from '../../support/fake-upstream.js';
import { startGatewayProcess } from '../../support/gateway-process.js';
import { inOneLine, openPicker } from './open-picker.js';

const BROWSER_TEST = { timeout: 300_000 };
const USDC_ON_ETHEREUM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const USDC_ON_BASE = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';

describe.skipIf(isBrowserMissing)('Choices in the picker', BROWSER_TEST, () => {
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

  it('shows both sides of a pair chosen by keyboard, and copies the variables for its quote', async () => {
    const { page, search, destinations, destinationRows, pair } = await open(demo, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.getByText('587 tokens found').waitFor();
    await page.keyboard.press('/');
    expect(await search.evaluate((box) => box === document.activeElement)).toBe(true);
    await page.keyboard.type(USDC_ON_ETHEREUM.toLowerCase());
    await page.keyboard.press('Enter');
    await destinations.getByText('35 tokens on 35 chains').waitFor();
    expect(new URL(page.url()).searchParams.get('token')).toBe(`ethereum:${USDC_ON_ETHEREUM}`);

    const list = destinations.getByRole('listbox', { name: 'Destinations' });
    await list.focus();
    const names = (await destinationRows.locator('.title').allInnerTexts()).map(inOneLine);
    const base = names.indexOf('USDC Base');
    expect(base).toBeGreaterThan(0);
    for (let row = 0; row < base; row++) await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');

    expect(await destinationRows.nth(base).getAttribute('aria-selected')).toBe('true');
    expect(inOneLine(await pair.locator('.sides').innerText())).toBe(
      'From USDC Ethereum 0xA0b8…eB48 6 decimals To USDC Base 0x8335…2913 6 decimals',
    );
    // A button says "Copied" for two seconds, which a busy machine may miss: here it says so for good.
    await page.evaluate(() => void Object.assign(window, { setTimeout: () => 0 }));
    await pair.getByRole('button', { name: 'Copy' }).click();
    await pair.getByRole('button', { name: 'Copied' }).waitFor();
    expect(JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))).toEqual({
      srcChainKey: 'ethereum',
      srcToken: USDC_ON_ETHEREUM,
      dstChainKey: 'base',
      dstToken: USDC_ON_BASE,
    });

    const chosen = page.locator('#chosen-facts');
    expect(await chosen.getByText(USDC_ON_ETHEREUM).count()).toBe(0);
    await chosen.getByRole('button', { name: 'Copy address' }).click();
    await chosen.getByText('Copied').waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(USDC_ON_ETHEREUM);
    await chosen.getByRole('button', { name: 'Show all' }).click();
    await chosen.getByText(USDC_ON_ETHEREUM).waitFor();
  });

  it('opens what a link says, and goes back and forth between choices', async () => {
    const link = `${demo}/?token=base:${USDC_ON_BASE.toLowerCase()}`;
    const { page, search, rows, destinations, destinationRows, pair } = await open(link, {
      reducedMotion: 'reduce',
    });
    const title = page.locator('#chosen-title');
    const facts = async () => inOneLine(await page.locator('#chosen-facts').innerText());
    await destinations.getByText('35 tokens on 35 chains').waitFor();
    expect(await facts()).toContain('Base base eip155:8453');
    expect(page.url()).toBe(link);
    expect(await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior)).toBe('auto');

    await destinationRows.filter({ hasText: 'Arbitrum' }).click();
    await pair.getByText('Variables for a quote').first().waitFor();
    const withPair = page.url();
    expect(new URL(withPair).search).toMatch(/^\?token=base:0x8335\w+&to=arbitrum:0x\w+$/);
    await search.fill('usdt ethereum');
    await page.getByText(/found for “usdt ethereum”$/).waitFor();
    await rows.first().click();
    await expect.poll(() => title.innerText()).toMatch(/^USDT/);
    expect(new URL(page.url()).searchParams.has('to')).toBe(false);

    await page.goBack();
    await expect.poll(() => title.innerText()).toBe('USDC');
    await pair.getByText('Variables for a quote').first().waitFor();
    expect(await destinationRows.filter({ hasText: 'Arbitrum' }).getAttribute('aria-selected')).toBe('true');
    await page.goBack();
    await pair.getByText('Choose a destination').waitFor();
    expect(page.url()).toBe(link);
    await page.goForward();
    await pair.getByText('Variables for a quote').first().waitFor();
    await page.reload();
    await pair.getByText('Variables for a quote').first().waitFor();
    expect(inOneLine(await pair.locator('.sides').innerText())).toMatch(
      /^From USDC Base .* To USDC Arbitrum /,
    );
  });

  it('chooses a token at first, which neither the address nor the recent choices keep', async () => {
    const { page, rows } = await open(demo);
    await expect.poll(() => page.locator('[role=option][aria-selected=true]').count()).toBeGreaterThan(0);
    const [symbol] = (await rows.and(page.locator('[aria-selected=true]')).innerText()).split(/\s/);
    expect(await page.locator('#chosen-title').innerText()).toContain(symbol);
    expect(new URL(page.url()).search).toBe('');
    expect(await page.getByRole('region', { name: 'Recent choices' }).count()).toBe(0);
  });

  it('remembers the last choices in this browser until they are cleared', async () => {
    const { page, search, rows, destinations } = await open(demo);
    for (const text of ['usdt ethereum', 'usdc base']) {
      await search.fill(text);
      await page.getByText(`found for “${text}”`).first().waitFor();
      await rows.first().click();
    }
    await page.goto(demo);
    const recent = page.getByRole('region', { name: 'Recent choices' });
    const choices = recent.getByRole('listitem');
    await expect
      .poll(async () => (await choices.allInnerTexts()).map(inOneLine))
      .toEqual([expect.stringMatching(/^USDC Base$/), expect.stringMatching(/^USDT\S* Ethereum$/)]);
    await choices.nth(1).getByRole('button').click();
    await destinations.getByText(/^\d+ tokens on \d+ chains$/).waitFor();
    await expect.poll(() => page.locator('#chosen-title').innerText()).toMatch(/^USDT/);
    expect(inOneLine((await choices.first().innerText()) ?? '')).toMatch(/^USDT/);

    await recent.getByRole('button', { name: 'Clear recent choices' }).click();
    expect(await recent.count()).toBe(0);
    expect(await page.evaluate(() => localStorage.length)).toBe(0);
    // What another program wrote there does no harm.
    for (const stored of ['{', '"x"', '[null, 1, {"chainKey": 1}]']) {
      await page.evaluate((text) => localStorage.setItem('token-picker.recent', text), stored);
      await page.reload();
      await page.getByText('587 tokens found').waitFor();
      expect(await recent.count()).toBe(0);
    }
  });

  it('shows logos only with LOGOS=true, and an initial where a picture fails', async () => {
    const upstream = await startFakeUpstream({
      chains: [chainRow('a', { name: 'A' })],
      tokens: ['good', 'bad', 'none'].map((name, index) =>
        tokenRow('a', `0x${index + 1}`, {
          symbol: name,
          ...(name === 'none' ? {} : { logoUrl: `https://logos.test/${name}.svg` }),
        }),
      ),
    });
    onTestFinished(upstream.close);
    for (const LOGOS of ['true', 'false']) {
      const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url, LOGOS });
      const { page, rows, hosts, complaints } = await open('about:blank');
      await page.context().route('https://logos.test/**', (route) =>
        route.request().url().endsWith('/good.svg')
          ? route.fulfill({
              contentType: 'image/svg+xml',
              body: '<svg xmlns="http://www.w3.org/2000/svg"/>',
            })
          : route.fulfill({ status: 404 }),
      );
      await page.goto(address);
      await expect.poll(() => rows.count()).toBe(3);
      if (LOGOS === 'false') {
        await expect.poll(() => page.locator('[aria-selected=true]').count()).toBeGreaterThan(0);
        expect(await page.locator('img').count()).toBe(0);
        expect([...hosts]).not.toContain('logos.test');
        expect(complaints).toEqual([]);
      } else {
        await expect.poll(() => rows.locator('img').count()).toBe(1);
        expect(await rows.locator('img').getAttribute('src')).toBe('https://logos.test/good.svg');
        expect([...hosts]).toContain('logos.test');
      }
    }
  });
});
