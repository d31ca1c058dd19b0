import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { isBrowserMissing, launchBrowser } from '../../support/browser.js';
import { startFakeUpstream } from '../../support/fake-upstream.js';
import { withHeldBack } from '../../support/held-back.js';
import { startServer } from '../../support/test-server.js';
import { inOneLine, openPicker } from './open-picker.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

describe.skipIf(isBrowserMissing)('The picker, of rows that are held back', { timeout: 300_000 }, () => {
  let browser: Browser;
  const ends: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    browser = await launchBrowser((end) => ends.push(end));
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  async function open(options: BrowserContextOptions = {}) {
    const since = Date.now() - 3_600_000 * 5;
    const upstream = await startFakeUpstream({
      chains: [chainRow('a', { name: 'Chain A' }), chainRow('b', { name: 'Chain B' })],
      tokens: [
        tokenRow('a', '0x1', { symbol: 'USDC', name: 'USD Coin', decimals: 6, price: { usd: 1 } }),
        tokenRow('b', '0x2', { symbol: 'ETH', name: 'Ether' }),
      ],
    });
    const server = await startServer({
      upstream,
      decorate: withHeldBack({
        USDC: [
          { fact: 'decimals', served: '6', upstream: '18', since },
          { fact: 'symbol', served: 'USDC', upstream: '\u202eUSD<b>', since },
        ],
        b: [{ fact: 'chainId', served: '1', upstream: '2', since }],
      }),
    });
    const status = server.snapshots.status.bind(server.snapshots);
    const counts = { chains: 1, tokens: 1_200 };
    vi.spyOn(server.snapshots, 'status').mockImplementation((now) => {
      const [chains, tokens] = status(now);
      return [
        { ...chains, heldBackRows: counts.chains },
        { ...tokens, heldBackRows: counts.tokens },
      ];
    });
    return {
      ...(await openPicker(browser, server.address, { viewport: { width: 360, height: 700 }, ...options })),
      counts,
    };
  }

  const DECIMALS = 'The upstream now says decimals 18 (first 5 h ago); 6 is served until it is confirmed.';
  const SYMBOL =
    'The upstream now says symbol U+202EUSD<b> (first 5 h ago); USDC is served until it is confirmed.';
  const CHAIN_ID = 'upstream now says chain id 2 (first 5 h ago); 1 is served until it is confirmed.';

  it('says at each row what the upstream says, in all lists and of the chosen token', async () => {
    const { page, rows, destinationRows, complaints } = await open();
    await expect.poll(() => rows.count()).toBe(2);
    const usdc = rows.filter({ hasText: 'USD Coin' });
    expect(inOneLine(await usdc.innerText())).toBe(`USDC Chain A USD Coin no price ${DECIMALS} ${SYMBOL}`);
    const ether = rows.filter({ hasText: 'Ether' });
    expect(inOneLine(await ether.innerText())).toMatch(/^ETH Chain B Ether \S+ Of the chain, the/);
    expect(await ether.locator('.held').allInnerTexts()).toEqual([`Of the chain, the ${CHAIN_ID}`]);

    await usdc.click();
    await page.locator('#chosen-title', { hasText: /^USDC/ }).waitFor();
    expect(await page.locator('#chosen-facts .held').allInnerTexts()).toEqual([DECIMALS, SYMBOL]);
    await destinationRows.first().waitFor();
    expect(await destinationRows.locator('.held').allInnerTexts()).toEqual([`Of the chain, the ${CHAIN_ID}`]);

    await page.getByRole('button', { name: /^Chain / }).click();
    const options = page.getByRole('dialog', { name: 'Chain' }).getByRole('option');
    await expect.poll(() => options.count()).toBe(3);
    expect(await options.filter({ hasText: 'Chain B' }).locator('.held').allInnerTexts()).toEqual([
      `The ${CHAIN_ID}`,
    ]);
    expect(await options.locator('.held').count()).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
    expect(complaints).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('meets the rules of accessibility in %s', async (colorScheme) => {
    const { page, rows } = await open({ colorScheme, bypassCSP: true });
    await page.addScriptTag({ path: AXE });
    await rows.filter({ hasText: 'USD Coin' }).click();
    await page.locator('#chosen-facts .held').first().waitFor();
    await page.getByRole('button', { name: /^Chain / }).click();
    await page.locator('#chain-list .held').waitFor();
    const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
      'axe.run()',
    );
    expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  });

  it('says above the list how many there are, until there are none', async () => {
    const { page, counts } = await open();
    const line = page.locator('#state');
    const state = async () => {
      await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
      return inOneLine(await line.innerText());
    };
    await expect
      .poll(state)
      .toMatch(
        /^Prices from \d+ (s|min) ago The upstream contradicts 1,200 tokens: see the marks\. The upstream contradicts 1 chain: see the marks\.$/,
      );
    Object.assign(counts, { chains: 0, tokens: 0 });
    await expect.poll(state).toMatch(/^Prices from \d+ (s|min) ago$/);
  });
});
