/** The picker keeps its texts whole and its parts in line in large text sizes, in low windows and beside failures. */
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { USDC, USDC_ON_BASE } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { PHONE, says, usePicker } from './open-picker.js';

const BOTH = `/?token=ethereum:${USDC}&to=base:${USDC_ON_BASE}`;

describe.skipIf(isBrowserMissing)('the picker in a real browser', { timeout: 300_000 }, () => {
  const { open } = usePicker();
  const boxes = (place: Locator) =>
    place.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect));
  /** The texts of elements whose text does not fit. */
  const cut = (place: Locator) =>
    place.evaluateAll((all) =>
      all.flatMap((one) => (one.scrollWidth > one.clientWidth ? [one.textContent] : [])),
    );

  it('no text of the slots and of the code is cut or covered if the text is twice as large', async () => {
    const { page, rows, pair } = await open(BOTH, PHONE);
    await rows.first().waitFor();
    await page.evaluate(() => {
      document.documentElement.style.fontSize = '32px';
    });
    expect(await cut(page.locator('.slot .what > *'))).toEqual([]);
    await page.getByRole('button', { name: 'Code' }).tap();
    await pair.waitFor();
    const parts = await boxes(pair.locator('h2, p, .id'));
    for (const [index, { bottom }] of parts.entries())
      expect(parts[index + 1]?.top ?? Infinity).toBeGreaterThanOrEqual(bottom);
    const tabs = await boxes(page.getByRole('tab'));
    for (const [index, { right }] of tabs.entries())
      expect(tabs[index + 1]?.left ?? Infinity).toBeGreaterThanOrEqual(right);
    expect(await cut(page.getByRole('tab'))).toEqual([]);
    // If the names have two lines, the second one begins with the arrow.
    expect(await pair.locator('h2 > span').allInnerTexts()).toEqual([
      expect.not.stringContaining('→'),
      expect.stringMatching(/^→/),
    ]);
  });

  it('a low window shows the upper end of the page at first, and a small phone on its side has all controls', async () => {
    const { page, search, rows } = await open('/', { ...PHONE, viewport: { width: 360, height: 400 } });
    await rows.first().waitFor();
    // The page would scroll one frame later.
    await page.waitForTimeout(200);
    expect(await page.evaluate(() => scrollY)).toBe(0);
    await page.setViewportSize({ width: 568, height: 320 });
    const place = async (one: Locator) => (await boxes(one))[0] ?? new DOMRect(Number.NaN);
    const [box, row, copy] = await Promise.all([search, rows.nth(2), page.locator('#copy')].map(place));
    expect(row?.left).toBeGreaterThan(box?.right ?? Number.NaN);
    expect([row?.bottom, copy?.bottom].map((bottom = Number.NaN) => bottom <= 320)).toEqual([true, true]);
    expect(await cut(page.locator('.slot .what > *'))).toEqual([]);
  });

  it('a row has the same height with the mark of Enter', async () => {
    const { search, found, rows, takes } = await open();
    await search.fill('usdc');
    await says(found, /for “usdc”/);
    const [first, second] = await boxes(rows);
    expect(await takes.count()).toBe(1);
    expect(first?.height).toBe(second?.height);
  });

  it('a failure is below the rows, which stay, above the bar of a phone; its answer is not called fresh', async () => {
    const { page, search, rows, fault, state } = await open('/?q=usdc', PHONE);
    await rows.first().waitFor();
    await search.tap();
    const before = await rows.first().boundingBox();
    const error = { message: 'no', extensions: { code: 'UPSTREAM_STATUS' } };
    await page.route('**/graphql', (route) =>
      (route.request().postData() ?? '').includes('query Listings')
        ? route.continue()
        : route.fulfill({ status: 503, json: { errors: [error] } }),
    );
    await search.fill('usdt');
    await fault.getByText('answered with an error').waitFor();
    expect(await rows.first().boundingBox()).toEqual(before);
    const [bar] = await boxes(page.locator('#side'));
    const [notice] = await boxes(fault);
    expect(notice?.bottom).toBeLessThanOrEqual(bar?.top ?? Number.NaN);
    expect(notice?.bottom).toBeGreaterThan((bar?.top ?? Number.NaN) - 40);
    await page.getByRole('button', { name: 'Code' }).tap();
    await says(page.locator('#size'), '0.1 kB');
    expect(await state.isVisible()).toBe(false);
    await page.unrouteAll();
    await expect.poll(() => state.isVisible(), { timeout: 15_000 }).toBe(true);
  });

  it('the buttons that copy addresses are apart at the right end, and an address stays when a chain with a longer identifier is chosen', async () => {
    const { page, rows, pair, toText } = await open(BOTH, { viewport: { width: 1280, height: 800 } });
    await pair.getByText('This route is listed.').waitFor();
    const addresses = pair.locator('.id code');
    const ends = async () => (await boxes(addresses)).map(({ left }) => left);
    const copies = pair.getByRole('button');
    const before = await ends();
    const panel = await boxes(page.locator('#copy'));
    for (const { right } of await boxes(copies)) expect(right).toBe(panel[0]?.right);
    await rows.filter({ hasText: 'on Arbitrum' }).click();
    await says(toText, 'To USDC on Arbitrum');
    expect(await ends()).toEqual(before);
    await page.setViewportSize({ width: 1000, height: 480 });
    await page.getByRole('button', { name: 'Code' }).click();
    const [first, second] = await boxes(copies);
    expect(second?.top).toBeGreaterThan(first?.bottom ?? Number.NaN);
  });

  it('the links of a tablet have equal gaps, and the last one ends where the card does', async () => {
    const { page } = await open('/', { ...PHONE, viewport: { width: 768, height: 1024 } });
    const links = page.getByRole('navigation', { name: 'More' }).getByRole('link');
    const texts = await links.evaluateAll((all) =>
      all.map((one) => {
        const range = document.createRange();
        range.selectNodeContents(one);
        const { left, right } = range.getBoundingClientRect();
        return [left, right] as const;
      }),
    );
    const gaps = texts.slice(1).map(([left], index) => left - (texts[index]?.[1] ?? Number.NaN));
    expect(Math.max(...gaps) - Math.min(...gaps)).toBeLessThan(1);
    const [search] = await boxes(page.locator('#search'));
    expect(texts.at(-1)?.[1]).toBeCloseTo(search?.right ?? Number.NaN, 0);
  });
});
