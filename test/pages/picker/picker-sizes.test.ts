/** The picker keeps its texts whole and its parts in line in large text sizes, in low windows and beside failures. */
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { USDC, USDC_ON_BASE } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { PHONE, says, usePicker } from './open-picker.js';

const USDC_ON_ARBITRUM = '0xaf88d065e77c8cC2239327C5EDb3A432268e5831';
/** A link to tokens without a route between them, and of other decimals. */
const UNREACHABLE = `/?token=base:0x${'e'.repeat(40)}&to=arbitrum:${USDC_ON_ARBITRUM}`;
const BOTH = `/?token=ethereum:${USDC}&to=base:${USDC_ON_BASE}`;

describe.skipIf(isBrowserMissing)('the picker in a real browser', { timeout: 300_000 }, () => {
  const { demo, open } = usePicker();
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
  it.each([360, 390, 1280])(
    'the picker draws both slots alike and small texts large enough in a window of %j pixels',
    async (width) => {
      const { page, rows } = await open(`/?token=base:${USDC_ON_BASE}&to=arbitrum:${USDC_ON_ARBITRUM}`, {
        ...(width < 960 ? PHONE : {}),
        viewport: { width, height: 800 },
      });
      await rows.nth(4).waitFor();
      await page.locator('#pair h2').waitFor({ state: 'attached' });
      const drawn = await page.evaluate(() => {
        const place = (selector: string) => {
          const found = document.querySelector(selector)?.getBoundingClientRect();
          return found ?? new DOMRect(Number.NaN);
        };
        const sizeOf = (one: Element) => Number.parseFloat(getComputedStyle(one).fontSize);
        const sizes = (selector: string) => [...document.querySelectorAll(selector)].map(sizeOf);
        const swap = document.querySelector('#swap');
        const circle = swap ? getComputedStyle(swap, '::before').width : '';
        const { left, width } = place('#swap');
        return {
          paddings: ['from', 'to'].map((id) => place(`#${id} .glyph`).left - place(`#${id}`).left),
          toSwap: place('#to .glyph').left - (left + width / 2 + Number.parseFloat(circle) / 2),
          letters: Math.min(...sizes('.mark')),
          texts: Math.min(...sizes('.row > :not(.glyph), .line, .pill, footer, .slot .what > *')),
          // The decimals are beside the address, in the second line.
          lower: place('.row:has(.differs) .differs').top - place('.row:has(.differs) .sub').top,
        };
      });
      expect(drawn.paddings[0]).toBe(drawn.paddings[1]);
      expect(drawn.toSwap).toBeGreaterThan(1);
      expect([drawn.letters >= 10, drawn.texts >= 12]).toEqual([true, true]);
      expect(Math.abs(drawn.lower)).toBeLessThan(5);
      const widths = [];
      if (width < 960) await page.locator('#sheet').tap();
      for (const name of ['Query', 'Variables', 'curl']) {
        await page.getByRole('tab', { name }).click();
        widths.push((await page.locator('#copy').boundingBox())?.width);
      }
      expect(new Set(widths).size).toBe(1);
    },
  );

  it.each([
    [667, 375],
    [844, 390],
    [640, 400],
  ])(
    'warnings are on the card, below its controls, in a window of %j × %j, and addresses in the code have one line',
    async (width, height) => {
      const { page, pair } = await open(UNREACHABLE, { viewport: { width, height } });
      const warnings = pair.locator('.warning');
      await expect.poll(() => warnings.count()).toBe(2);
      const [first, above] = [await warnings.first().boundingBox(), await page.locator('.ask').boundingBox()];
      expect(first?.y).toBeGreaterThanOrEqual((above?.y ?? Number.NaN) + (above?.height ?? 0));
      const colorOf = (place: Locator) => place.evaluate((one) => getComputedStyle(one).color);
      expect(await colorOf(warnings.first())).toBe(await colorOf(page.locator('.pill')));
      // Its text is light in both themes.
      const groundOf = (place: Locator) => place.evaluate((one) => getComputedStyle(one).backgroundColor);
      expect(await groundOf(page.locator('#sheet'))).toMatch(/^rgb\(/);
      await page.getByRole('button', { name: 'Code' }).click();
      const addresses = pair.locator('.id code');
      const heights = await addresses.evaluateAll((all) =>
        all.map((one) => one.getBoundingClientRect().height),
      );
      expect(heights).toEqual([20, 20]);
    },
  );

  it('the slot To says in full on a small phone that it cannot be reached, and the bar names only warnings', async () => {
    const { page, pair } = await open(UNREACHABLE, { ...PHONE, viewport: { width: 320, height: 640 } });
    const differs = page.locator('#to .differs');
    await differs.waitFor();
    expect(await differs.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
    expect((await differs.boundingBox())?.height).toBeLessThan(20);
    expect(await pair.locator(':scope > :visible').allInnerTexts()).toEqual([
      expect.stringContaining('no route'),
      expect.stringContaining('Decimals differ'),
    ]);
    // The lines and the search stay where they are with empty slots.
    const tops = () =>
      page
        .locator('.slot :is(.label, b), #search')
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().y));
    const before = await tops();
    await page.goto(demo.address);
    await says(page.locator('#to .what'), 'To Choose a token on any chain');
    expect(await tops()).toEqual(before);
  });

  it.each([
    [960, '16px'],
    [1280, '28px'],
    [1280, '32px'],
  ])('the button that copies is in the panel at %j pixels with a text size of %s', async (width, size) => {
    const { page, rows } = await open('/', { viewport: { width, height: 800 } });
    await rows.first().waitFor();
    await page.evaluate((size) => {
      document.documentElement.style.fontSize = size;
    }, size);
    const [panel, copy] = await Promise.all(
      ['#panel', '#copy'].map((place) => page.locator(place).boundingBox()),
    );
    const rightOf = (box = copy) => (box?.x ?? Number.NaN) + (box?.width ?? 0);
    expect(rightOf()).toBeLessThan(rightOf(panel));
    if (size !== '16px') return;
    // The facts have one line, however long they are.
    for (const [place, text] of [
      ['#took', '1234 ms'],
      ['#state', 'fresh, 12 min old'],
      ['#answered-by', 'gateway cache'],
    ] as const)
      await page.locator(place).evaluate((one, text) => one.replaceChildren(text), text);
    expect((await page.locator('footer').boundingBox())?.height).toBeLessThan(50);
  });

  it('the search does not cover the rows of a window of 320 × 200', async () => {
    const { page, search, rows } = await open('/', { viewport: { width: 320, height: 200 } });
    await rows.first().waitFor();
    await page.mouse.wheel(0, 400);
    await expect.poll(async () => (await search.boundingBox())?.y).toBeLessThan(-48);
  });

  it('a row that is selected with the keyboard is above the bar of a small window', async () => {
    const { page, search, rows } = await open('/?q=usd', { viewport: { width: 390, height: 844 } });
    await rows.first().waitFor();
    for (let presses = 0; presses < 20; presses++) await search.press('ArrowDown');
    const selected = page.locator(`#${await search.getAttribute('aria-activedescendant')}`);
    const [row, bar] = await Promise.all([selected, page.locator('#side')].map((one) => one.boundingBox()));
    expect((row?.y ?? Number.NaN) + (row?.height ?? 0)).toBeLessThanOrEqual(bar?.y ?? 0);
  });
});
