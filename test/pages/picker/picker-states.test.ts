/** The picker shows failures and the status of listings, and is accessible in all themes and sizes. */
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow, USDC_ON_BASE } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { json, status } from '../../support/fake-upstream.js';
import { ask, startGatewayProcess } from '../../support/gateway-process.js';
import { freePort } from '../../support/processes.js';
import {
  hasFocus,
  holdRequests,
  lookAgain,
  looking,
  PHONE,
  rowTexts,
  says,
  smallTargets,
  usePicker,
} from './open-picker.js';

const USDC_ON_ARBITRUM = '0xaf88d065e77c8cC2239327C5EDb3A432268e5831';
/** A link to tokens without a route between them. */
const UNREACHABLE = `/?token=base:${USDC_ON_BASE}&to=base:0x${'e'.repeat(40)}`;
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

describe.skipIf(isBrowserMissing)('the picker in a real browser', { timeout: 300_000 }, () => {
  const { demo, open, openWith } = usePicker();

  it('the picker shows the status of the listings, and updates ages without requests', async () => {
    const { page, sent, state } = await open();
    await says(state, /^fresh, \d+ (s|min) old$/);
    await says(page.locator('#prices'), /^prices \d+ (s|min) old$/);
    // Retried: the page queries the listings every ten seconds, and this query would be counted here.
    await expect
      .poll(async () => {
        const [before, asked] = [await state.innerText(), sent.length];
        await expect.poll(() => state.innerText(), { interval: 200 }).not.toBe(before);
        return sent.length - asked;
      })
      .toBe(0);
    expect(await page.getByText('Demo: prices, routes and some flags are made up').count()).toBe(1);
    await state.click();
    const rows = page.getByRole('dialog', { name: 'Listings' }).getByRole('row');
    // On a busy machine a listing may be stale for a moment.
    await expect
      .poll(() => rowTexts(rows))
      .toEqual([
        'Listing State Age Rows Left out Held back Source Last failure',
        expect.stringMatching(/^chains fresh \d+ (s|min) 108 0 0 demo none$/),
        expect.stringMatching(/^tokens fresh \d+ (s|min) 587 0 0 demo none$/),
      ]);
  });

  it('the picker says why prices are stale, and which requests the service failed to answer', async () => {
    const listings = { chains: [chainRow('a')], tokens: [tokenRow('a', '0x1')] };
    const { page, upstream, rows, state, fault, note } = await openWith(listings, {
      TOKENS_FRESH_MS: '500',
    });
    await expect.poll(() => rows.count()).toBe(1);
    const warned = page.locator('#prices.warning');
    expect(await warned.count()).toBe(0);
    upstream.plan('tokens', status(500));
    await expect
      .poll(looking(page, () => state.innerText()))
      .toMatch(/^Prices are \d+ (s|min) old\. The token service answered with an error\.$/);
    expect(await state.getAttribute('class')).toBe('warned');
    expect(await warned.count()).toBe(1);
    expect(await page.locator('#answered-by').innerText()).toMatch(/^gateway( cache)?$/);
    await state.click();
    await page
      .getByRole('dialog', { name: 'Listings' })
      .getByText(/^stale$/)
      .waitFor();
    await page.keyboard.press('Escape');
    await rows.first().click();
    await fault.getByText('The token service answered with an error. Retrying…').waitFor();
    expect(await rows.count()).toBe(0);
    upstream.plan('tokens', json({ tokens: listings.tokens }));
    upstream.plan('routes', json({ tokens: [] }));
    await expect.poll(looking(page, () => fault.innerText())).toBe('');
    await says(note, /The service lists nothing that this token can be moved to\./);
  });

  it('the picker says that a token of a link is loading, not that it is not listed, until the gateway has a listing', async () => {
    const { upstream, fault, note, fromText } = await openWith(
      { chains: [chainRow('a', { name: 'A' })] },
      { TOKENS_FRESH_MS: '500' },
      '/?token=a:0x1',
      ({ plan }) => plan('tokens', status(500)),
    );
    await fault.getByText('The token service answered with an error. Retrying…').waitFor();
    await says(fromText, 'From Loading…');
    expect(await note.innerText()).toBe('');
    upstream.plan('tokens', json({ tokens: [tokenRow('a', '0x1')] }));
    await says(fromText, 'From USDC on A');
  });

  it('the picker says of a route what it knows of this direction, and asks again if that fails', async () => {
    const listings = {
      chains: ['a', 'b'].map((key) => chainRow(key, { name: key })),
      tokens: ['a', 'b'].map((key) => tokenRow(key, '0x1')),
    };
    const { page, upstream, fault, pair, fromText } = await openWith(listings, {}, '/?token=a:0x1&to=b:0x1');
    const isListed = pair.getByText('This route is listed.');
    await isListed.waitFor();
    const waiting: (() => void)[] = [];
    upstream.plan('routes', (...asked) => void waiting.push(() => status(500)(...asked)));
    await page.getByRole('button', { name: 'Swap From and To' }).click();
    await says(fromText, 'From USDC on b');
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    expect(await isListed.count()).toBe(0);
    upstream.plan('routes', status(500));
    for (const fail of waiting) fail();
    await fault.getByText('The token service answered with an error.').waitFor();
    expect(await isListed.count()).toBe(0);
    upstream.plan('routes', json({ tokens: listings.tokens }));
    await expect.poll(looking(page, () => isListed.count())).toBe(1);
  });

  it('the picker that was opened in a background tab shows the present facts when the tab is shown', async () => {
    const tokens = (decimals: number) => [tokenRow('a', '0x1', { decimals })];
    const listings = { chains: [chainRow('a')], tokens: tokens(6) };
    const { upstream, address } = await openWith(listings, { TOKENS_FRESH_MS: '1000' });
    const { page, sent, rows } = await open('about:blank', {});
    await page.addInitScript(() => {
      let isHidden = true;
      Object.defineProperty(document, 'hidden', { get: () => isHidden });
      Object.defineProperty(document, 'visibilityState', {
        get: () => (isHidden ? 'hidden' : 'visible'),
      });
      const { requestAnimationFrame } = window;
      const waiting: FrameRequestCallback[] = [];
      window.requestAnimationFrame = (run) => (isHidden ? waiting.push(run) : requestAnimationFrame(run));
      addEventListener('show', () => {
        isHidden = false;
        for (const run of waiting) requestAnimationFrame(run);
        document.dispatchEvent(new Event('visibilitychange'));
      });
    });
    await page.goto(address);
    await expect.poll(() => rows.count()).toBe(1);
    await expect.poll(() => sent.some(({ query }) => query.startsWith('query Chains'))).toBe(true);
    upstream.plan('tokens', json({ tokens: tokens(18) }));
    const held = '{ listings { name heldBackRows } }';
    await expect.poll(async () => JSON.stringify(await ask(address, held))).toContain('"heldBackRows":1');
    // Until the end of this test the gateway has no newer listing.
    upstream.plan('tokens', status(500));
    await page.evaluate(() => dispatchEvent(new Event('show')));
    await expect.poll(() => rows.locator('.warning').allTextContents()).toHaveLength(1);
  });

  it('the picker is loaded anew once, with its search, when the gateway serves demo data in place of a service', async () => {
    const env = { PORT: String(await freePort()) };
    const listings = { chains: [chainRow('a')], tokens: [tokenRow('a', '0x1')] };
    const { page, search, rows, child, exited } = await openWith(listings, env, '/?q=usdc');
    await rows.first().waitFor();
    await lookAgain(page);
    let loads = 0;
    page.on('load', () => loads++);
    child.kill('SIGKILL');
    await exited;
    await startGatewayProcess(env);
    const label = page.getByText('Demo: prices, routes and some flags are made up');
    await expect.poll(looking(page, () => label.count())).toBe(1);
    expect(await search.inputValue()).toBe('usdc');
    for (let polls = 0; polls < 5; polls++) {
      const answered = page.waitForResponse((response) => response.url().endsWith('/graphql'));
      await lookAgain(page);
      await answered;
    }
    expect(loads).toBe(1);
  });

  it('the picker works if its document is of another version, as during a rolling upgrade', async () => {
    const { page, complaints, rows } = await open();
    await page.route('**/?q=usdc', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replaceAll(/(?<=\/picker\/)[\w-]{16}(?=\/)/g, 'x'.repeat(16));
      await route.fulfill({ response, body });
    });
    await page.goto(new URL('/?q=usdc', page.url()).href);
    await rows.first().waitFor();
    await page.getByRole('link', { name: 'Guide' }).first().click();
    await page.getByRole('heading', { name: 'Chains and tokens gateway' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('the picker updates prices without moving rows or the focus, and keeps the rows while the gateway does not answer', async () => {
    const env = { PORT: String(await freePort()), TOKENS_FRESH_MS: '200' };
    // The page needs neither introspection nor the playground.
    const { address, child, exited } = await startGatewayProcess({
      ...env,
      INTROSPECTION: 'false',
      GRAPHIQL: 'false',
    });
    const { page, sent, search, rows, searches, found, fault, state, code } = await open(`${address}/?q=eth`);
    await rows.nth(1).waitFor();
    expect(await code.textContent()).toContain('tokenSearch(');
    expect(await page.getByRole('link', { name: 'Open in the playground' }).count()).toBe(0);
    const kept = await rows.nth(1).elementHandle();
    await search.press('ArrowDown');
    const before = await rows.locator('.price').allTextContents();
    // Further pages are appended when they come into view, on a busy machine earlier or later.
    const firstTitles = async () => (await rows.locator('.title').allTextContents()).slice(0, 20);
    const titles = await firstTitles();
    await expect.poll(looking(page, () => rows.locator('.price').allTextContents())).not.toEqual(before);
    expect(await firstTitles()).toEqual(titles);
    expect(await kept?.evaluate((row) => row.className)).toBe('row takes');
    expect(searches()).toHaveLength(1);
    await says(page.locator('#prices'), /^prices \d s old$/);
    // When a search gets newer rows, the page queries the state of the listings at once: the ages of both
    // must agree.
    const polls = () => sent.filter(({ query }) => query.startsWith('query Listings')).length;
    await page.waitForTimeout(500);
    const earlier = polls();
    await search.fill('usdc');
    await expect.poll(polls, { timeout: 5000 }).toBe(earlier + 1);
    await search.fill('eth');
    await expect.poll(firstTitles).toEqual(titles);
    await search.press('ArrowDown');

    child.kill('SIGKILL');
    await exited;
    await search.fill('usdt');
    await fault.getByText('This gateway does not answer. Retrying…').waitFor();
    expect([await firstTitles(), await found.innerText()]).toEqual([titles, 'Earlier results, not updated.']);
    // Enter chooses none of these rows, not even the one that was selected before.
    await search.press('Enter');
    await expect
      .poll(async () => [await page.locator('.takes').count(), await search.inputValue()])
      .toEqual([0, 'usdt']);
    // The panel shows the new query, and "no answer" in place of the earlier answer and its time.
    await says(page.locator('#took'), 'no answer');
    expect(await page.locator('#took').getAttribute('class')).toBe('failed slow');
    expect(await page.locator('#variables').textContent()).toContain('"usdt"');
    expect(await page.locator('#answer').textContent()).toBe('no answer');
    // The card already says that the gateway does not answer, so the line of the state is hidden.
    await state.and(page.locator('.warned')).waitFor({ state: 'attached', timeout: 3000 });
    expect(await state.isVisible()).toBe(false);
    // The page tries again soon, but not often, and shows results by itself when the gateway is back.
    const already = sent.length;
    await page.waitForTimeout(6000);
    const tries = sent.length - already;
    expect([tries >= 2, tries <= 5]).toEqual([true, true]);
    await startGatewayProcess(env);
    const polled = polls();
    await says(found, /^\d+ tokens for “usdt”(, \d+ can be moved)?$/);
    // One of these polls can have been sent before the gateway was back.
    expect(polls() - polled).toBeLessThanOrEqual(2);
    expect(await fault.innerText()).toBe('');
  });

  it.each(['', '&side=from'])(
    'the picker keeps a link that it could not open, with its side: %j',
    async (side) => {
      const { page, found, fault } = await open('about:blank');
      await page.route('**/graphql', (route) => route.abort());
      const link = `${demo.address}/?token=base:${USDC_ON_BASE}&to=arbitrum:${USDC_ON_ARBITRUM}${side}`;
      await page.goto(link);
      await fault.getByText('This gateway does not answer.').waitFor();
      expect(page.url()).toBe(link);
      await page.unroute('**/graphql');
      await says(found, side ? '350 tokens can be moved' : '35 places for USDC');
      expect(page.url()).toBe(link);
    },
  );

  it.each([
    ['UPSTREAM_TIMEOUT', 'The token service does not answer. Retrying…', true],
    ['RATE_LIMITED', 'There are too many requests now. Retrying…', false],
  ])('the picker soon repeats a search that failed with %s, which it says by %j: %j', async (...given) => {
    const [code, text, isSoon] = given;
    const { page, search, searches, found, fault } = await open();
    await says(found, '350 tokens can be moved');
    const body = JSON.stringify({ errors: [{ message: '', extensions: { code } }] });
    await page.route('**/graphql', (route) =>
      route.request().postData()?.includes('"usdc"')
        ? route.fulfill({ status: 503, body })
        : route.continue(),
    );
    await search.fill('usdc');
    await fault.getByText(text).waitFor();
    const before = searches().length;
    // Otherwise it would be repeated when the state of the listings is polled, after ten seconds.
    await page.waitForTimeout(3000);
    expect(searches().length > before).toBe(isSoon);
  });

  it('the picker goes back to the search that it shows after another one has failed', async () => {
    const { page, search, found, fault, rows } = await open('/?q=usdc');
    await says(found, /^89 tokens for “usdc”/);
    await page.route('**/graphql', (route) => route.abort());
    await search.fill('usdcx');
    await fault.getByText('This gateway does not answer. Retrying…').waitFor();
    await search.fill('usdc');
    await page.unroute('**/graphql');
    await expect.poll(looking(page, () => found.innerText())).toMatch(/^89 tokens for “usdc”/);
    expect([await fault.innerText(), (await rows.count()) > 9]).toEqual(['', true]);
  });

  it('the focus goes from "Try again" to the search when an answer comes', async () => {
    const { page, search, found, fault } = await open();
    await says(found, '350 tokens can be moved');
    let isDown = true;
    await page.route('**/graphql', (route) => (isDown ? route.abort() : route.continue()));
    await search.fill('usdc');
    await fault.getByRole('button', { name: 'Try again' }).focus();
    isDown = false;
    await says(found, /^89 tokens for “usdc”/);
    expect(await hasFocus(search)).toBe(true);
  });

  it.each([
    // The last size is the screen of a laptop at 200 % zoom. The colours are the same in all sizes.
    ['light', [1440, 2560, 900, 640], ['dark']],
    ['dark', [320], []],
  ] as const)(
    'axe finds no fault in any state of the picker in a %s theme, and the picker fits at %j pixels; colours are also checked in these themes: %j',
    async (...given) => {
      const [colorScheme, widths, otherThemes] = given;
      const [width] = widths;
      const { page, search, rows, others, note, fault, state } = await open('/', {
        bypassCSP: true,
        colorScheme,
        viewport: { width, height: 800 },
      });
      await page.addScriptTag({ path: AXE });
      // Checks only the first rows of a group, and selected ones: the other rows have the same form.
      const violations = (options: object) =>
        page.evaluate(`axe.run({ exclude: '.row:nth-of-type(n + 6):not(.takes, [aria-selected=true])' }, ${JSON.stringify(options)}).then(({ violations }) =>
          violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`);
      const check = async () => {
        // Rows of an earlier search are pale.
        await page.locator('#tokens:not([aria-busy="true"])').waitFor({ state: 'attached' });
        for (const one of [...widths.slice(1), width]) {
          await page.setViewportSize({ width: one, height: one === 640 ? 400 : 800 });
          expect(
            await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
          ).toBeLessThanOrEqual(0);
        }
        expect(await violations({ resultTypes: ['violations'] })).toEqual([]);
        for (const other of otherThemes) {
          await page.emulateMedia({ colorScheme: other });
          expect(await violations({ runOnly: ['color-contrast'] })).toEqual([]);
          await page.emulateMedia({ colorScheme });
        }
      };
      await rows.first().waitFor();
      await search.fill('weth b');
      await says(page.locator('#found'), /“weth b”/);
      await others.first().waitFor();
      await check();
      await search.fill('usdc base');
      await search.press('Enter');
      await says(page.locator('#found'), '35 places for USDC');
      await search.fill('usdc b');
      await says(page.locator('#found'), /“usdc b”$/);
      await rows.first().click();
      await page.getByRole('button', { name: /^To USDC/ }).waitFor();
      await check();
      await page.getByRole('button', { name: 'More chains' }).click();
      await page.getByRole('textbox', { name: 'Find a chain' }).fill('a');
      await check();
      const isPhone = await page.locator('#sheet').isVisible();
      if (isPhone) {
        await page.locator('#sheet').click();
        await check();
      }
      await state.click();
      await check();
      await page.keyboard.press('Escape');
      if (isPhone) await page.locator('#sheet').click();
      await page.getByRole('button', { name: 'Close the chains' }).click();
      await search.fill('usdcc');
      await note.getByRole('button', { name: 'Did you mean USDC?' }).waitFor();
      await check();
      await page.route('**/graphql', (route) => route.abort());
      await search.fill('eth');
      await fault.getByText('This gateway does not answer.').waitFor();
      // It was about the earlier search.
      expect(await note.isVisible()).toBe(false);
      await check();
      const isLight = await page.locator('body').evaluate((body) => {
        const { color, backgroundColor } = getComputedStyle(body);
        const [text = 0, ground = 0] = [color, backgroundColor].map((one) => Number(/\d+/.exec(one)?.[0]));
        return ground > text;
      });
      expect(isLight).toBe(colorScheme === 'light');
    },
  );

  const THEMES = ['light', 'dark'] as const;
  it.each(THEMES)('the picker follows axe in the forced colours of a %s theme', async (colorScheme) => {
    const options = { forcedColors: 'active', colorScheme, bypassCSP: true } as const;
    const { page, search, rows, others } = await open('/?q=weth+b', { ...options, ...PHONE });
    await rows.first().waitFor();
    await page.getByRole('button', { name: 'More chains' }).waitFor();
    await page.addScriptTag({ path: AXE });
    const faults = await page.evaluate(`(() => {
          // Chromium reports this property without the forced colours, though it paints with them.
          const { getPropertyValue } = CSSStyleDeclaration.prototype;
          CSSStyleDeclaration.prototype.getPropertyValue = function (name) {
            return getPropertyValue.call(this, name === '-webkit-text-fill-color' ? 'color' : name);
          };
          // axe reports letters in the colour of their background only as "incomplete".
          const isInvisible = ({ any }) => any.some(({ data }) => data?.messageKey === 'equalRatio');
          return axe.run().then(({ violations, incomplete }) => [
            ...violations.flatMap(({ nodes }) => nodes),
            ...incomplete.flatMap(({ nodes }) => nodes.filter(isInvisible)),
          ].map(({ html }) => html));
        })()`);
    expect(faults).toEqual([]);
    // Transparent borders enlarge the targets. Forced colours would draw them, so they must be thin.
    const borders = await page
      .locator('#chains label')
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).borderTopWidth));
    expect(new Set(borders)).toEqual(new Set(['1px']));
    expect(await smallTargets(page)).toEqual([]);
    expect([await search.isVisible(), await others.count()]).toEqual([true, 1]);
  });

  it('the panel does not move while both tokens are chosen, and the list begins with tokens that can be reached', async () => {
    const { page, rows } = await open();
    const panel = page.locator('#panel');
    await rows.first().waitFor();
    const places = [await panel.boundingBox()];
    await rows.first().click();
    await says(page.locator('#pair'), /can be moved/);
    places.push(await panel.boundingBox());
    await page.goto(demo.address + UNREACHABLE);
    await says(page.locator('#pair'), /no route/);
    expect(places[1]).toEqual(places[0]);
    expect(await page.locator('#tokens').evaluate((list) => list.scrollTop)).toBe(0);
  });

  it('the panel does not move when the page learns that a route is listed', async () => {
    const { page, pair } = await open('about:blank');
    const answer = await holdRequests(page, (body) => body.includes('query Route'));
    await page.goto(`${demo.address}/?token=base:${USDC_ON_BASE}&to=arbitrum:${USDC_ON_ARBITRUM}`);
    await pair.locator('.id').nth(1).waitFor();
    const before = await pair.boundingBox();
    answer();
    await pair.getByText('This route is listed.').waitFor();
    expect(await pair.boundingBox()).toEqual(before);
  });

  it('the picker has a skip link, shows choices and switches in forced colours, and reduces motion', async () => {
    const { page, search, rows } = await open('/', { forcedColors: 'active', reducedMotion: 'reduce' });
    await page.locator('.skip').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => hasFocus(search)).toBe(true);
    await search.fill('usdc');
    await rows.first().waitFor();
    const styleOf = (selector: string, name: 'outlineStyle' | 'transitionDuration' | 'borderColor') =>
      page
        .locator(selector)
        .first()
        .evaluate((one, name) => getComputedStyle(one)[name], name);
    for (const selector of [
      '.slot[aria-pressed=true]',
      '.row.takes',
      '#chains label:has(:checked)',
      '[role=tab][aria-selected=true]',
    ]) {
      expect([selector, await styleOf(selector, 'outlineStyle')]).toEqual([selector, 'solid']);
    }
    expect(await styleOf('.slot[aria-pressed=false]', 'outlineStyle')).toBe('none');
    expect(await styleOf('#tokens', 'transitionDuration')).toBe('0s');
    // The circle of the button has the edge of a button, and does not touch the slots.
    const [edge, ring, ground] = await page.locator('#swap').evaluate((swap) => {
      const { borderTopColor, outlineColor } = getComputedStyle(swap, '::before');
      return [borderTopColor, outlineColor, getComputedStyle(document.body).backgroundColor];
    });
    expect([edge, ring]).toEqual([await styleOf('#to', 'borderColor'), ground]);
    const on = await styleOf('#shortcut', 'borderColor');
    await page.locator('#shortcut').evaluate((one) => {
      one.ariaPressed = 'false';
    });
    expect(await styleOf('#shortcut', 'borderColor')).not.toBe(on);
  });
});
