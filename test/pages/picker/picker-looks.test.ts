/** The picker does not move while it loads, letters and edges are seen on their grounds, and a touch screen shows no marks for keys. */
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { USDC_ON_BASE } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { holdRequests, PHONE, says, usePicker } from './open-picker.js';

const BOTH = `/?token=base:${USDC_ON_BASE}&to=bsc:0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d`;
const THEMES = ['light', 'dark'] as const;

describe.skipIf(isBrowserMissing)('the picker in a real browser', { timeout: 300_000 }, () => {
  const { demo, open } = usePicker();

  it.each([320, 360, 768, 1280])(
    'nothing moves when the first answers come, in a window of %j pixels',
    async (width) => {
      const { page, rows, state } = await open('about:blank', {
        ...(width < 960 ? PHONE : {}),
        viewport: { width, height: 800 },
      });
      const answer = await holdRequests(page);
      await page.addInitScript(() => {
        const counted = { shift: 0 };
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries())
            counted.shift += (entry as unknown as { value: number }).value;
        }).observe({ type: 'layout-shift', buffered: true });
        Object.assign(window, { counted });
      });
      await page.goto(demo.address);
      const places = (selectors: string[]) =>
        page.evaluate(
          (all) =>
            all.map((selector) => {
              const { x, y, width, height } =
                document.querySelector(selector)?.getBoundingClientRect() ?? new DOMRect(Number.NaN);
              return [selector, x, y, width, height].map((one) =>
                typeof one === 'number' ? Math.round(one) : one,
              );
            }),
          selectors,
        );
      const skeleton = page.locator('#skeleton');
      await skeleton.waitFor();
      const ofRows = async (place: Locator) => (await place.boundingBox())?.y;
      const parts = [
        '#chips',
        '#chains label',
        '#more-chains',
        '.line',
        '#copy',
        '#panel',
        'header',
        '.slots',
      ];
      parts.push('#search');
      const before = [await places(parts), await ofRows(skeleton)];
      // The placeholders of chips are chips beside each other. Those without room are cut, as the chips to come.
      const chips = await page
        .locator('#chains label')
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().top));
      expect([chips.length, new Set(chips).size]).toEqual([4, 1]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      answer();
      await rows.first().waitFor();
      await page.getByRole('button', { name: 'More chains' }).waitFor();
      await state.locator('time').waitFor({ state: 'attached' });
      expect([await places(parts), await ofRows(rows.first())]).toEqual(before);
      // Also no smaller part, such as a fact in the footer.
      expect(await page.evaluate('counted.shift')).toBeLessThan(0.0002);
    },
  );

  it('placeholders are not shown below a failure, nor while the page tries again', async () => {
    const { page, fault } = await open('about:blank');
    await page.route('**/graphql', (route) => route.abort());
    await page.goto(demo.address);
    await fault.getByText('This gateway does not answer.').waitFor();
    await holdRequests(page);
    await fault.getByRole('button', { name: 'Try again' }).click();
    await page.locator('#tokens[aria-busy=true]').waitFor({ state: 'attached' });
    expect(await page.locator('#skeleton').isVisible()).toBe(false);
    expect(await fault.isVisible()).toBe(true);
  });

  it.each(THEMES)(
    'edges are seen in a %s theme, and only the search that has the focus is a frame',
    async (colorScheme) => {
      const { page, rows } = await open('/', { ...PHONE, colorScheme });
      await rows.first().waitFor();
      expect(await contrast(page, '#search', 'borderTopColor', '#search')).toBeGreaterThan(3);
      expect(await contrast(page, '#sheet', 'borderTopColor', '#side')).toBeGreaterThan(3);
      const edgeOf = (slot: Element) => getComputedStyle(slot).borderTopColor;
      expect(await page.locator('#from').evaluate(edgeOf)).toBe('rgba(0, 0, 0, 0)');
      await page.getByRole('button', { name: 'Code' }).tap();
      const chosen = '[role=tab][aria-selected=true]';
      expect(await contrast(page, chosen, 'borderBottomColor', '#side')).toBeGreaterThan(3);
    },
  );

  it.each([360, 1280])(
    'the reason why tokens cannot be reached stays above their rows in a window of %j pixels',
    async (width) => {
      const options = { ...(width < 960 ? PHONE : {}), viewport: { width, height: 700 } };
      const { page, search, otherRows } = await open(`/?token=base:${USDC_ON_BASE}&q=usdc`, options);
      await expect.poll(() => otherRows.count()).toBeGreaterThan(12);
      await otherRows.nth(12).evaluate((row) => row.scrollIntoView({ block: 'center' }));
      // Either the search stays, or the box of the rows scrolls.
      const above = width < 960 ? search : page.locator('.line');
      const { y = 0, height = 0 } = (await above.boundingBox()) ?? {};
      const under = (distance: number) =>
        page.evaluate(([x, y]) => document.elementFromPoint(x, y)?.closest('.row, .others')?.className, [
          width / 4,
          y + height + distance,
        ] as const);
      await expect.poll(() => under(30)).toBe('others');
      expect(await under(70)).toBe('row');
    },
  );

  it('the code moves with the first choice only, and rows do not move when a search fails', async () => {
    const { page, search, rows, fault, toText } = await open();
    const placeOf = (selector: string) => page.locator(selector).boundingBox();
    await search.fill('usdc base');
    await search.press('Enter');
    await page.locator('#pair').waitFor();
    const code = await placeOf('#panel');
    await search.fill('usdc arb');
    await search.press('Enter');
    await says(toText, 'To USDC on Arbitrum');
    expect(await placeOf('#panel')).toEqual(code);
    const row = await rows.first().boundingBox();
    await page.route('**/graphql', (route) => route.abort());
    await search.fill('usdt');
    await fault.getByRole('button', { name: 'Try again' }).waitFor();
    expect(await rows.first().boundingBox()).toEqual(row);
  });

  it('the main button of a phone stays in its place when the code opens, and a swipe down closes it', async () => {
    const { page, rows, code } = await open(BOTH, PHONE);
    await rows.first().waitFor();
    const placeOf = () => page.locator('#copy').boundingBox();
    const before = await placeOf();
    await page.getByRole('button', { name: 'Code' }).tap();
    await expect.poll(() => code.isVisible()).toBe(true);
    expect(await placeOf()).toEqual(before);
    const devtools = await page.context().newCDPSession(page);
    const swipe = async (from: number, to: number) => {
      for (const [type, y] of [
        ['touchStart', from],
        ['touchMove', to],
        ['touchEnd', undefined],
      ] as const)
        await devtools.send('Input.dispatchTouchEvent', {
          type,
          touchPoints: y === undefined ? [] : [{ x: 180, y }],
        });
    };
    // Within the code, it scrolls.
    await swipe(400, 500);
    expect(await code.isVisible()).toBe(true);
    await swipe(80, 180);
    await expect.poll(() => code.isVisible()).toBe(false);
  });

  it('the letter of every chain has a contrast of 4.5 with its mark', async () => {
    const { page } = await open();
    await page.getByRole('button', { name: 'More chains' }).click();
    const marks = page.locator('#chains .mark');
    await expect.poll(() => marks.count()).toBeGreaterThan(100);
    const low = await marks.evaluateAll((all) => {
      const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
      return all.flatMap((mark) => {
        if (!canvas) return ['no canvas'];
        canvas.fillStyle = getComputedStyle(mark).backgroundColor;
        canvas.fillRect(0, 0, 1, 1);
        // A white gloss lies on the mark, up to 55 % of its height. The letter begins at about a quarter.
        const [, gloss = 'none'] =
          /255, 255, 255, ([\d.]+)\)/.exec(getComputedStyle(mark).backgroundImage) ?? [];
        canvas.fillStyle = `rgb(255 255 255 / ${Number(gloss) * (1 - 25 / 55)})`;
        canvas.fillRect(0, 0, 1, 1);
        const [red = 0, green = 0, blue = 0] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => {
          const value = part / 255;
          return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        });
        const ratio = 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
        return ratio < 4.5 ? [`${mark.parentElement?.textContent}: ${ratio}`] : [];
      });
    });
    expect(low).toEqual([]);
  });

  it('on a touch screen the row that Enter chooses is marked only once the arrow keys have selected it', async () => {
    const { search, found, takes } = await open('/', PHONE);
    await search.tap();
    await search.fill('usdc');
    await says(found, /for “usdc”/);
    const groundOf = () => takes.evaluate((row) => getComputedStyle(row).backgroundColor);
    expect(await groundOf()).toBe('rgba(0, 0, 0, 0)');
    await search.press('ArrowDown');
    await search.press('ArrowDown');
    await expect.poll(groundOf).not.toBe('rgba(0, 0, 0, 0)');
  });

  it.each([320, 360, 768])(
    'the last row is above the bar of a small window of %j pixels, also if the bar has warnings',
    async (width) => {
      const viewport = { width, height: 700 };
      const { page, pair, otherRows } = await open(`${BOTH}&q=usdc`, { ...PHONE, viewport });
      await pair.locator('.warning').first().waitFor();
      const gap = async () => {
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        const [row, bar] = await Promise.all(
          [otherRows.last(), page.locator('#side')].map((one) => one.boundingBox()),
        );
        return (bar?.y ?? Number.NaN) - (row?.y ?? 0) - (row?.height ?? 0);
      };
      // Further rows come while the end is in view.
      await expect.poll(gap, { interval: 300 }).toBeGreaterThan(0);
      await page.waitForTimeout(500);
      expect(await gap()).toBeGreaterThan(0);
    },
  );
});

/** The contrast between a colour of one element and the background of another; NaN if one is transparent. */
function contrast(
  page: Page,
  selector: string,
  name: 'borderTopColor' | 'borderBottomColor',
  ground: string,
): Promise<number> {
  return page.evaluate(
    ([selector, name, ground]) => {
      const styleOf = (place: string) => {
        const found = document.querySelector(place);
        return found ? getComputedStyle(found) : undefined;
      };
      const colors = [styleOf(selector)?.[name], styleOf(ground)?.backgroundColor];
      const [edge = 0, below = 0] = colors.map((color = '') => {
        const [, ...given] = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(color) ?? [];
        const parts = given.map((part) => Number(part) / 255);
        const [red = Number.NaN, green = 0, blue = 0] = parts.map((part) => ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
      });
      return Math.max(edge / below, below / edge);
    },
    [selector, name, ground] as const,
  );
}
