/** The picker shows rows that need care, failures, its code and the status of listings, in all themes and sizes. */
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { type FakeListings, json, startFakeUpstream, status } from '../../support/fake-upstream.js';
import { freePort } from '../../support/free-port.js';
import { startGatewayProcess } from '../../support/gateway-process.js';
import { withHeldBack } from '../../support/held-back.js';
import { ROOT } from '../../support/readme.js';
import { startServer } from '../../support/test-server.js';
import {
  copied,
  hasFocus,
  lookAgain,
  PHONE,
  rowTexts,
  says,
  USDC_ON_BASE,
  usePicker,
} from './open-picker.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const run = promisify(execFile);

describe.skipIf(isBrowserMissing)('the picker in a real browser', { timeout: 300_000 }, () => {
  const { demo, open, openWith } = usePicker();

  describe('rows that need care', () => {
    const TWINS = [
      '0x1111110000000000000000000000000000002222',
      '0x1111330000000000000000000000000000002222',
    ];
    const ODD: FakeListings = {
      chains: [
        chainRow('a', { name: 'A chain with a long name, which is not cut whatever the width of the row' }),
        chainRow('b', { name: '<i>B</i>' }),
      ],
      tokens: [
        ...TWINS.map((address, index) => tokenRow('a', address, { symbol: index ? 'twin' : 'TWIN' })),
        tokenRow('a', '0x3333330000000000000000000000000000004444', { symbol: 'ELSE' }),
        tokenRow('a', '0x4', { symbol: 'FAKЕ', ...{ logoUrl: 'https://logos.test/good.svg' } }),
        tokenRow('b', NATIVE, {
          symbol: '<img src=x onerror=alert(1)>',
          name: 'Odd <b>one</b>',
          decimals: 18,
          isBridgeable: false,
          price: undefined,
        }),
        tokenRow('b', '0x2', {
          symbol: 'W'.repeat(120),
          name: 'Long '.repeat(60),
          price: { usd: 0.00000012345 },
        }),
        tokenRow('b', '0x5', { symbol: 'US\u200bDT', name: '\u202eabc' }),
        tokenRow('b', '0x6', { symbol: 'دولار', name: 'عملة' }),
      ],
    };

    it('rows show names as text and load no logos; twins and letters of another script are not chosen by Enter', async () => {
      const { page, search, note, rows, otherRows, fromText, complaints, hosts, address } =
        await openWith(ODD);
      await page.setViewportSize({ width: 320, height: 640 });
      await expect
        .poll(() => rowTexts(otherRows))
        .toEqual(['<img src=x onerror=alert(1)> on <i>B</i> Odd <b>one</b> · native asset no price']);
      expect(await page.locator('#tokens :is(img, i)').count()).toBe(0);
      expect(await rows.locator('.price').allTextContents()).toContain('$0.0000001235');
      expect((await rows.locator('.unseen-mark').allTextContents()).sort()).toEqual(['U+200B', 'U+202E']);
      expect(await page.locator('main').innerText()).not.toMatch(/[\u200b\u202e]/);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
      const areCut = await page
        .locator('.row .on')
        .evaluateAll((all) => all.map((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0));
      expect(areCut).toEqual(Array(8).fill(false));
      expect(await page.content()).not.toMatch(/demo/i);

      for (const [typed, sentence] of [
        ['twin', /^⚠? ?Two tokens look alike here: check the address, then choose one in the list\.$/],
        ['fakе', /^⚠? ?This symbol has letters that look like others: check the address, then choose it in/],
      ] as const) {
        await search.fill(typed);
        await search.press('Enter');
        await says(note, sentence);
        expect(await search.inputValue()).toBe(typed);
        await says(fromText, 'From Choose a token');
        expect(await page.locator('.takes').count()).toBe(0);
      }
      await search.fill('else');
      await expect.poll(() => rowTexts(rows)).toEqual([expect.stringMatching(/^ELSE/)]);
      expect(await rows.locator('.warning').count()).toBe(0);
      await search.fill('twin');
      await expect.poll(() => rows.locator('.warning code').allTextContents()).toEqual(TWINS);
      expect(await rows.locator('.warning mark').allTextContents()).toEqual(['11', '33']);
      // The arrow keys can choose a row with a warning.
      await search.press('ArrowDown');
      await search.press('ArrowDown');
      expect(await search.getAttribute('aria-activedescendant')).toBe('token-2');
      await search.press('Enter');
      await says(fromText, /twin/i);

      await page.goto(`${address}/?code=Answer`);
      const code = page.locator('#code');
      await expect.poll(() => code.textContent()).toContain('"US\\u200bDT"');
      expect(await code.textContent()).not.toMatch(/[\u200b\u202e]/);
      expect([complaints, [...hosts]]).toEqual([[], [new URL(address).host]]);
    });

    it('look-alike rows are not chosen by Enter if a letter of another alphabet is all that differs', async () => {
      const addresses = ['0x1111110000000000000000000000000000005555', USDC_ON_BASE];
      const { page, search, rows, note, fromText } = await openWith({
        chains: [chainRow('base', { name: 'Base' })],
        tokens: addresses.map((address, index) =>
          tokenRow('base', address, { symbol: index ? 'USDC' : 'U\u0405DC' }),
        ),
      });
      await rows.nth(1).waitFor();
      await search.click();
      await page.keyboard.type('usdc base\n');
      await says(note, /^⚠? ?Two tokens look alike here: check the address, then choose one in the list\.$/);
      await says(fromText, 'From Choose a token');
      expect(await rows.getByText('looks like another').count()).toBe(2);
      expect((await rows.locator('.warning code').allTextContents()).sort()).toEqual(addresses);
    });

    it('rows and the chosen token show held-back values', async () => {
      const since = Date.now() - 3_600_000 * 5;
      const upstream = await startFakeUpstream({
        chains: [chainRow('a', { name: 'Chain A' }), chainRow('b', { name: 'Chain B' })],
        tokens: [tokenRow('a', '0x1'), tokenRow('b', '0x2', { symbol: 'ETH', name: 'Ether' })],
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
      const { page, rows, pair, complaints } = await open(server.address);
      const warnings = (place: Locator) => place.locator('.warning').allInnerTexts();
      const OF_USDC = [
        'The service now says decimals 18 (first 5 h ago); 6 is shown until that is confirmed.',
        'The service now says symbol U+202EUSD<b> (first 5 h ago); USDC is shown until that is confirmed.',
      ];
      await expect.poll(() => rows.count()).toBe(2);
      expect(await warnings(rows.filter({ hasText: 'Chain A' }))).toEqual(OF_USDC);
      expect(await warnings(rows.filter({ hasText: 'Chain B' }))).toEqual([
        'For the chain, the service now says chain id 2 (first 5 h ago); 1 is shown until that is confirmed.',
      ]);
      await expect.poll(() => warnings(page.locator('#chains'))).toHaveLength(1);
      await rows.filter({ hasText: 'Chain A' }).click();
      await expect.poll(() => warnings(pair)).toEqual(OF_USDC);
      expect(complaints).toEqual([]);
    });

    it('rows show logos with LOGOS=true, and the glyph if a picture fails to load', async () => {
      const tokens = ['good', 'bad', 'none'].map((name, index) =>
        tokenRow('a', `0x${index + 1}`, {
          symbol: name,
          ...(name === 'none' ? {} : { logoUrl: `https://logos.test/${name}.svg` }),
        }),
      );
      const { page, rows } = await openWith({ chains: [chainRow('a')], tokens }, { LOGOS: 'true' });
      const body = '<svg xmlns="http://www.w3.org/2000/svg"/>';
      await page.route('https://logos.test/good.svg', (route) =>
        route.fulfill({ contentType: 'image/svg+xml', body }),
      );
      await page.reload();
      await expect.poll(() => rows.count()).toBe(3);
      await expect.poll(() => rows.locator('img').count()).toBe(1);
      expect((await rows.locator('.glyph').allTextContents()).sort()).toEqual(['BT', 'GT', 'NT']);
      // The mark of the chain is above the picture.
      const isMarkOnTop = await rows.filter({ has: page.locator('img') }).evaluate((row) => {
        const { left = 0, top = 0 } = row.querySelector('.mark')?.getBoundingClientRect() ?? {};
        return document
          .elementFromPoint(left + 4, top + 4)
          ?.closest('.mark, img')
          ?.matches('.mark');
      });
      expect(isMarkOnTop).toBe(true);
    });
  });

  describe('the code', () => {
    it('the code is the query that was sent, and each form of it runs and gives the same answer', async () => {
      const { page, code, searches, found, rows } = await open(`/?token=base:${USDC_ON_BASE}`);
      await says(found, '35 places for USDC');
      const tab = async (name: string) => {
        await page.getByRole('tab', { name }).click();
        return (await code.textContent()) ?? '';
      };
      const last = searches().at(-1);
      expect(last?.query.split('\n').length).toBeLessThanOrEqual(15);
      expect({ query: await tab('Query'), variables: JSON.parse(await tab('Variables')) }).toEqual(last);
      expect(last?.variables).toEqual({
        filter: { reachableFrom: { chainKey: 'base', address: USDC_ON_BASE } },
        others: {},
      });
      // Below the query are its variables and the beginning of its answer, and its lines do not wrap.
      await tab('Query');
      const [variables, shownAnswer, heights] = await Promise.all([
        page.locator('#variables').innerText(),
        page.locator('#answer').innerText(),
        code.locator('.code-line').evaluateAll((lines) => lines.map(({ clientHeight }) => clientHeight)),
      ]);
      expect(JSON.parse(variables)).toEqual(last?.variables);
      expect(shownAnswer).toMatch(/^\{\n {2}"data": \{\n {4}"found": \{\n[\s\S]*\n…$/);
      expect(new Set(heights.filter((height) => height > 0)).size).toBe(1);
      // If lines wrap in a narrow window, the wrapped parts are indented.
      const paddings = await code
        .locator('.code-line')
        .evaluateAll((lines) => lines.map((line) => Number.parseFloat(getComputedStyle(line).paddingLeft)));
      const indents = last?.query.split('\n').map((line) => line.search(/\S|$/));
      const [least = 0] = paddings;
      expect(paddings.map((padding) => Math.round((2 * padding) / least) - 2)).toEqual(indents);
      const answer = JSON.parse(await tab('Answer'));
      expect(await page.locator('#variables').isVisible()).toBe(false);
      expect(answer.data.found.totalCount).toBe(35);

      const same = (given: string) =>
        expect(withoutPrices(JSON.parse(given))).toEqual(withoutPrices(answer.data));
      const { stdout } = await run('bash', ['-c', await tab('curl')], { maxBuffer: 1e7 });
      same(JSON.stringify(JSON.parse(stdout).data));
      for (const name of ['fetch', 'Apollo']) {
        const text = `${await tab(name)}\nprocess.stdout.write(JSON.stringify(data, (key, value) => key === '__typename' ? undefined : value));`;
        same(
          (await run(process.execPath, ['--input-type=module', '-e', text], { cwd: ROOT, maxBuffer: 1e7 }))
            .stdout,
        );
      }
      await page.getByRole('button', { name: 'Copy Apollo' }).click();
      await expect.poll(() => copied(page)).toBe(await code.textContent());

      await page.getByRole('tab', { name: 'Apollo' }).press('ArrowRight');
      expect(await page.getByRole('tab', { selected: true }).innerText()).toBe('Query');
      await says(
        page.locator('footer'),
        /\d+ ms [\d.]+ kB fresh, \d+ s old from the (cache of the )?gateway Open in the playground/,
      );
      await rows.first().waitFor();
      const [request] = await Promise.all([
        page.waitForRequest((one) => one.postData()?.includes('query Tokens(') === true),
        page.getByRole('link', { name: 'Open in the playground' }).click(),
      ]);
      expect(JSON.parse(request.postData() ?? '').variables).toEqual(last?.variables);
      await page
        .locator('#answer-facts')
        .getByText(/ms · .* kB · cost \d+ · gateway; /)
        .waitFor();
    });

    it('the code is a bar on a phone, which opens as a sheet below a summary of both sides; all targets are large', async () => {
      const { page, search, rows, code, pair, sent } = await open('/', PHONE);
      await rows.first().waitFor();
      const links = page.getByRole('navigation', { name: 'More' }).getByRole('link');
      expect(await links.count()).toBe(0);
      await page.getByRole('button', { name: 'More pages' }).tap();
      await expect.poll(() => links.allInnerTexts()).toEqual(['Playground', 'Schema', 'llms.txt', 'Guide']);
      expect(await smallTargets(page)).toEqual([]);
      await page.keyboard.press('Escape');
      const box = await rows.first().boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(480);
      await page.evaluate(() => scrollTo(0, 1500));
      await expect.poll(async () => (await search.boundingBox())?.y).toBeLessThan(20);
      expect(await code.isVisible()).toBe(false);
      await rows.first().tap();
      const toggle = page.getByRole('button', { name: 'Code' });
      const close = page.getByRole('button', { name: 'Close' });
      const shade = () => page.touchscreen.tap(180, 20);
      for (const shut of [() => page.keyboard.press('Escape'), () => close.tap(), shade]) {
        expect(await smallTargets(page)).toEqual([]);
        await toggle.tap();
        await expect.poll(async () => [await code.isVisible(), await hasFocus(close)]).toEqual([true, true]);
        const areInert = await page
          .locator('.skip, #menu, nav, main > .card')
          .evaluateAll((all) => all.map((one) => (one as Element & { inert?: boolean }).inert));
        expect(areInert).toEqual([true, true, true, true]);
        for (const tab of await page.getByRole('tab').all()) {
          const { x, width } = (await tab.boundingBox()) ?? { x: 0, width: 360 };
          expect(x + width).toBeLessThan(360);
        }
        expect((await pair.locator('.id').boundingBox())?.height).toBeLessThan(24);
        await says(page.locator('#answered-by'), /^from the (cache of the )?gateway$/);
        expect(await smallTargets(page)).toEqual([]);
        await shut();
        await expect
          .poll(async () => [await code.isVisible(), await hasFocus(toggle)])
          .toEqual([false, true]);
        expect(await search.evaluate((box) => box.closest('[inert]'))).toBe(null);
        expect(await toggle.getAttribute('aria-expanded')).toBe('false');
      }

      await page.goto(
        `${demo.address}/?token=base:${USDC_ON_BASE}&to=bsc:0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d`,
      );
      const copies = page.getByRole('button', { name: /^Copy (?!the address)/ });
      await pair.getByText('Decimals differ: 6 on Base, 18 on BNB Chain.').waitFor();
      // The code is not found by its role, because the closed sheet hides it.
      await expect.poll(() => page.locator('#code').textContent()).toContain('tokensByKey(');
      expect([await code.isVisible(), await copies.allInnerTexts()]).toEqual([false, ['Copy query']]);
      await copies.tap();
      await expect.poll(() => copied(page)).toBe(sent.findLast(({ variables }) => variables.keys)?.query);
      await expect.poll(() => copies.allInnerTexts()).toEqual(['Copy query']);
      const playground = page.getByRole('link', { name: 'Open in the playground' });
      const link = new URL((await playground.getAttribute('href')) ?? '', demo.address);
      expect(JSON.parse(link.searchParams.get('variables') ?? '').keys).toHaveLength(2);
      await toggle.tap();
      await page.getByRole('tab', { name: 'curl' }).tap();
      await expect.poll(() => copies.allInnerTexts()).toEqual(['Copy curl']);
      await close.tap();
      await rows.filter({ hasText: 'on Arbitrum' }).tap();
      await pair.getByText('USDC on Arbitrum').waitFor();
      expect(await pair.getByText('Decimals differ').count()).toBe(0);

      // Without a clipboard the code is selected, in the open sheet.
      await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
      await copies.tap();
      await expect.poll(() => code.isVisible()).toBe(true);
      const compact = async (text: Promise<string>) => (await text).replace(/\s/g, '');
      await expect
        .poll(() => compact(page.evaluate(() => `${getSelection()}`)))
        .toBe(await compact(code.innerText()));
    });
  });

  it('the picker shows the best match of a new search, wherever the page was scrolled before', async () => {
    const { page, search, rows, found } = await open('/', PHONE);
    await rows.first().waitFor();
    await page.evaluate(() => scrollTo(0, 1500));
    await search.fill('usdc');
    await says(found, '89 tokens for “usdc”');
    await expect
      .poll(async () => {
        const [above, first] = [await search.boundingBox(), await rows.first().boundingBox()];
        return (first?.y ?? Number.NaN) - (above?.y ?? 0) - (above?.height ?? 0);
      })
      .toBeGreaterThan(0);
    expect((await rows.first().boundingBox())?.y).toBeLessThan(400);
  });

  it('the picker shows rows beside the search on a phone that lies on its side', async () => {
    const { page, search, rows } = await open('/', { ...PHONE, viewport: { width: 667, height: 375 } });
    await rows.nth(3).waitFor();
    const bar = (await page.locator('#side').boundingBox())?.y ?? 0;
    const { y = 0, height = 0 } = (await rows.nth(3).boundingBox()) ?? {};
    expect([y + height <= bar, y >= ((await search.boundingBox())?.y ?? 0)]).toEqual([true, true]);
    const facts = page.locator('footer');
    for (const path of ['/', `/?token=base:${USDC_ON_BASE}`]) {
      await page.goto(demo.address + path);
      await rows.first().waitFor();
      await page.getByRole('button', { name: 'Code' }).tap();
      await page.locator('#shown').waitFor();
      const [shown, below] = [await page.locator('#shown').boundingBox(), await facts.boundingBox()];
      expect(below?.y).toBeGreaterThanOrEqual((shown?.y ?? Number.NaN) + (shown?.height ?? 0));
      expect((below?.y ?? Number.NaN) + (below?.height ?? 0)).toBeLessThanOrEqual(375);
    }
  });

  describe('the status', () => {
    it('the picker shows the status of the listings, and updates ages without requests', async () => {
      const { page, sent, state } = await open();
      await says(state, /^fresh, \d+ (s|min) old$/);
      await says(page.locator('#prices'), /^prices \d+ (s|min) old$/);
      // This is retried, because the page queries the listings every ten seconds, and this query can come between.
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
        .poll(async () => {
          await lookAgain(page);
          return state.innerText();
        })
        .toMatch(/^Prices are \d+ (s|min) old\. The token service answers with an error\.$/);
      expect(await state.getAttribute('class')).toBe('warned');
      expect(await warned.count()).toBe(1);
      expect(await page.locator('#answered-by').innerText()).toMatch(/^from the (cache of the )?gateway$/);
      await state.click();
      await page
        .getByRole('dialog', { name: 'Listings' })
        .getByText(/^stale$/)
        .waitFor();
      await page.keyboard.press('Escape');
      await rows.first().click();
      await fault.getByText('The token service answers with an error. Retrying…').waitFor();
      expect(await rows.count()).toBe(0);
      upstream.plan('tokens', json({ tokens: listings.tokens }));
      upstream.plan('routes', json({ tokens: [] }));
      await expect
        .poll(async () => {
          await lookAgain(page);
          return [await fault.innerText(), await note.innerText()];
        })
        .toEqual(['', expect.stringContaining('The service lists nothing that this token can be moved to.')]);
    });

    it('the picker updates prices without moving rows or the focus, and keeps the rows while the gateway does not answer', async () => {
      const env = { PORT: String(await freePort()), TOKENS_FRESH_MS: '200' };
      // The page needs neither introspection nor the playground.
      const { address, child, exited } = await startGatewayProcess({
        ...env,
        INTROSPECTION: 'false',
        GRAPHIQL: 'false',
      });
      const { page, sent, search, rows, searches, found, fault, state, code } = await open(
        `${address}/?q=eth`,
      );
      await rows.nth(1).waitFor();
      expect(await code.textContent()).toContain('tokenSearch(');
      expect(await page.getByRole('link', { name: 'Open in the playground' }).count()).toBe(0);
      const kept = await rows.nth(1).elementHandle();
      await search.press('ArrowDown');
      const before = await rows.locator('.price').allTextContents();
      const titles = await rows.locator('.title').allTextContents();
      await expect
        .poll(
          async () => {
            await lookAgain(page);
            return rows.locator('.price').allTextContents();
          },
          { interval: 300 },
        )
        .not.toEqual(before);
      expect(await rows.locator('.title').allTextContents()).toEqual(titles);
      expect(await kept?.evaluate((row) => row.className)).toBe('row takes');
      expect(searches()).toHaveLength(1);
      await says(page.locator('#prices'), /^prices \d s old$/);

      child.kill('SIGKILL');
      await exited;
      await search.fill('usdt');
      await fault.getByText('This gateway does not answer. Retrying…').waitFor();
      expect([await rows.locator('.title').allTextContents(), await found.innerText()]).toEqual([
        titles,
        'Earlier results, not updated.',
      ]);
      // Enter chooses none of these rows, not even the one that was selected before.
      await search.press('Enter');
      await expect
        .poll(async () => [await page.locator('.takes').count(), await search.inputValue()])
        .toEqual([0, 'usdt']);
      // The panel shows the query without an answer, not the earlier one, and no time in green.
      await says(page.locator('#took'), 'no answer');
      expect(await page.locator('#took').getAttribute('class')).toBe('slow');
      expect(await page.locator('#variables').textContent()).toContain('"usdt"');
      expect(await page.locator('#answer').textContent()).toBe('no answer');
      // The card already says that the gateway does not answer, so the line of the state is hidden.
      await state.and(page.locator('.warned')).waitFor({ state: 'attached', timeout: 3000 });
      expect(await state.isVisible()).toBe(false);
      // It tries again soon, but not often, and by itself when the gateway is back.
      const already = sent.length;
      await page.waitForTimeout(6000);
      const tries = sent.length - already;
      expect([tries >= 2, tries <= 5]).toEqual([true, true]);
      await startGatewayProcess(env);
      const polls = () => sent.filter(({ query }) => query.startsWith('query Listings')).length;
      const polled = polls();
      await says(found, /^\d+ tokens for “usdt”$/);
      // One of these polls can have begun before.
      expect(polls() - polled).toBeLessThanOrEqual(2);
      expect(await fault.innerText()).toBe('');
    });
  });

  describe('accessibility', () => {
    it.each([
      // The last size is the screen of a laptop at 200 % zoom.
      ['light', 'dark', [1440, 2560, 900, 640]],
      ['dark', 'light', [320]],
    ] as const)(
      'the picker follows axe in %s and %s in these states, and fits at %j pixels',
      async (...given) => {
        const [colorScheme, other, widths] = given;
        const [width] = widths;
        const { page, search, rows, others, note, fault, state } = await open('/', {
          bypassCSP: true,
          colorScheme,
          // Otherwise colours change slowly after a change of the theme.
          reducedMotion: 'reduce',
          viewport: { width, height: 800 },
        });
        await page.addScriptTag({ path: AXE });
        // Of the plain rows of a group, the first ones stand for all.
        const violations = (options: object) =>
          page.evaluate(`axe.run({ exclude: '.row:nth-of-type(n + 6):not(.takes, [aria-selected=true])' }, ${JSON.stringify(options)}).then(({ violations }) =>
          violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`);
        const check = async () => {
          for (const one of [...widths.slice(1), width]) {
            await page.setViewportSize({ width: one, height: one === 640 ? 400 : 800 });
            expect(
              await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
            ).toBeLessThanOrEqual(0);
          }
          expect(await violations({ resultTypes: ['violations'] })).toEqual([]);
          await page.emulateMedia({ colorScheme: other });
          expect(await violations({ runOnly: ['color-contrast'] })).toEqual([]);
          await page.emulateMedia({ colorScheme });
        };
        await rows.first().waitFor();
        await search.fill('weth b');
        await says(page.locator('#found'), /“weth b”$/);
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
        await page.getByRole('searchbox', { name: 'Find a chain' }).fill('a');
        await check();
        const isPhone = await page.locator('#sheet').isVisible();
        if (isPhone) {
          await page.locator('#sheet').click();
          await check();
        }
        await state.click();
        await check();
        await page.keyboard.press('Escape');
        if (isPhone) await page.locator('#close').click();
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

    it.each(['light', 'dark'] as const)(
      'the picker follows axe in the forced colours of a %s theme',
      async (colorScheme) => {
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
          // axe does not decide about letters in the colour of their ground.
          const isInvisible = ({ any }) => any.some(({ data }) => data?.messageKey === 'equalRatio');
          return axe.run().then(({ violations, incomplete }) => [
            ...violations.flatMap(({ nodes }) => nodes),
            ...incomplete.flatMap(({ nodes }) => nodes.filter(isInvisible)),
          ].map(({ html }) => html));
        })()`);
        expect(faults).toEqual([]);
        // The borders that enlarge targets are not drawn.
        const borders = await page
          .locator('#chains label')
          .evaluateAll((all) => all.map((one) => getComputedStyle(one).borderTopWidth));
        expect(new Set(borders)).toEqual(new Set(['1px']));
        expect(await smallTargets(page)).toEqual([]);
        expect([await search.isVisible(), await others.count()]).toEqual([true, 1]);
      },
    );

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
      const on = await styleOf('#shortcut', 'borderColor');
      await page.locator('#shortcut').evaluate((one) => {
        one.ariaPressed = 'false';
      });
      expect(await styleOf('#shortcut', 'borderColor')).not.toBe(on);
    });
  });
});

/** The names of controls that are less than 44 pixels high, which a finger can miss. */
const smallTargets = (page: Page) =>
  page
    .locator('button:visible, nav a:visible, footer a:visible, #chains label:visible, #tokens .row:visible')
    .evaluateAll((all) =>
      all.flatMap((one) => (one.getBoundingClientRect().height < 44 ? [one.id || one.textContent] : [])),
    );

/** Removes prices, which change between two answers. */
function withoutPrices(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (name, value: unknown) => (name === 'price' ? undefined : value)));
}
