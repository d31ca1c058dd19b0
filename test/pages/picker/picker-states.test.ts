import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { type FakeListings, json, startFakeUpstream, status } from '../../support/fake-upstream.js';
import { freePort } from '../../support/free-port.js';
import { startGatewayProcess } from '../../support/gateway-process.js';
import { withHeldBack } from '../../support/held-back.js';
import { ROOT } from '../../support/readme.js';
import { startServer } from '../../support/test-server.js';
import { inOneLine, lookAgain, rowTexts, usePicker } from './open-picker.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const USDC_ON_BASE = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const run = promisify(execFile);

describe.skipIf(isBrowserMissing)('The picker in a real browser', { timeout: 300_000 }, () => {
  const { demo, open, openWith } = usePicker();

  describe('Rows that need care', () => {
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
        tokenRow('a', '0x4', { symbol: 'FAKЕ' }),
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

    it('are not chosen by Enter: twins show whole addresses, letters of another script a warning', async () => {
      const { page, search, note, rows, fromText } = await openWith(ODD);
      for (const [typed, sentence] of [
        ['twin', /^⚠? ?Two tokens look alike here: check the address/],
        ['fakе', /^⚠? ?This symbol has letters that look like others: check the address/],
      ] as const) {
        await search.fill(typed);
        await search.press('Enter');
        await expect.poll(() => note.innerText()).toMatch(sentence);
        expect(await search.inputValue()).toBe(typed);
        expect(await fromText()).toBe('From Choose a token');
        expect(await page.locator('.takes').count()).toBe(0);
      }
      await search.fill('twin');
      await expect.poll(() => rows.locator('.warning code').allInnerTexts()).toEqual(TWINS);
      await search.fill('else');
      await expect.poll(() => rowTexts(rows)).toEqual([expect.stringMatching(/^ELSE/)]);
      expect(await rows.locator('.warning').count()).toBe(0);
      // The arrow keys can choose a row with a warning.
      await search.fill('twin');
      await expect.poll(() => rows.count()).toBe(2);
      await search.press('ArrowDown');
      await search.press('ArrowDown');
      expect(await search.getAttribute('aria-activedescendant')).toBe('token-2');
      await search.press('Enter');
      await expect.poll(fromText).toMatch(/twin/i);
    });

    it('show names as text, marks for invisible characters, and the whole names of chains', async () => {
      const { page, rows, otherRows, complaints, hosts, address } = await openWith(ODD, {
        viewport: { width: 320, height: 640 },
      });
      await expect.poll(() => otherRows.count()).toBe(1);
      expect((await rowTexts(otherRows))[0]).toBe(
        '<img src=x onerror=alert(1)> on <i>B</i> Odd <b>one</b> · native asset no price',
      );
      expect(await page.locator('#tokens img, #tokens i').count()).toBe(0);
      expect(await rows.locator('.price').allInnerTexts()).toContain('$0.0000001235');
      expect((await rows.locator('.unseen-mark').allInnerTexts()).sort()).toEqual(['U+200B', 'U+202E']);
      expect(await page.locator('main').innerText()).not.toMatch(/[\u200b\u202e]/);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
      const areCut = await page
        .locator('.row .on')
        .evaluateAll((all) => all.map((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0));
      expect(areCut).toEqual(Array(8).fill(false));
      expect(await page.content()).not.toMatch(/demo/i);
      expect(complaints).toEqual([]);
      await page.goto(`${address}/?code=Answer`);
      await expect.poll(() => page.locator('#code').textContent()).toContain('"US\\u200bDT"');
      expect(await page.locator('#code').textContent()).not.toMatch(/[\u200b\u202e]/);
      expect([...hosts]).toEqual([new URL(address).host]);
    });

    it('show held-back values in each row and for the chosen token', async () => {
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
      expect(await warnings(page.locator('#chains'))).toHaveLength(1);
      await rows.filter({ hasText: 'Chain A' }).click();
      await expect.poll(() => warnings(pair)).toEqual(OF_USDC);
      expect(complaints).toEqual([]);
    });

    it('show logos only with LOGOS=true, and the glyph if a picture fails to load', async () => {
      const listings = {
        chains: [chainRow('a', { name: 'A' })],
        tokens: ['good', 'bad', 'none'].map((name, index) =>
          tokenRow('a', `0x${index + 1}`, {
            symbol: name,
            ...(name === 'none' ? {} : { logoUrl: `https://logos.test/${name}.svg` }),
          }),
        ),
      };
      for (const LOGOS of ['true', 'false']) {
        const { page, rows, hosts, address } = await openWith(listings, { settings: { LOGOS } });
        await page.context().route('https://logos.test/**', (route) =>
          route.request().url().endsWith('/good.svg')
            ? route.fulfill({
                contentType: 'image/svg+xml',
                body: '<svg xmlns="http://www.w3.org/2000/svg"/>',
              })
            : route.fulfill({ status: 404 }),
        );
        hosts.clear();
        await page.goto(address);
        await expect.poll(() => rows.count()).toBe(3);
        await expect.poll(() => rows.locator('img').count()).toBe(LOGOS === 'true' ? 1 : 0);
        expect(hosts.has('logos.test')).toBe(LOGOS === 'true');
        expect(await rows.locator('.glyph > svg').count()).toBe(3);
      }
    });
  });

  describe('The code', () => {
    it('is the query that was sent, and each form of it runs and gives the same answer', async () => {
      const { page, code, sent, found, rows } = await open(`${demo.address}/?token=base:${USDC_ON_BASE}`, {
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      await expect.poll(() => found.innerText()).toBe('35 places for USDC');
      const tab = async (name: string) => {
        await page.getByRole('tab', { name }).click();
        return (await code.textContent()) ?? '';
      };
      const last = sent.findLast(({ variables }) => Object.hasOwn(Object(variables.filter), 'reachableFrom'));
      expect({ query: await tab('Query'), variables: JSON.parse(await tab('Variables')) }).toEqual(last);
      expect(last?.variables).toEqual({
        filter: { reachableFrom: { chainKey: 'base', address: USDC_ON_BASE } },
      });
      // The query is shown with its variables, and its lines do not wrap.
      await tab('Query');
      const [variables, heights] = await Promise.all([
        page.locator('#variables').innerText(),
        code.locator('.code-line').evaluateAll((lines) => lines.map(({ clientHeight }) => clientHeight)),
      ]);
      expect(JSON.parse(variables)).toEqual(last?.variables);
      expect(new Set(heights.filter((height) => height > 0)).size).toBe(1);
      const answer = JSON.parse(await tab('Answer'));
      expect(await page.locator('#variables').isVisible()).toBe(false);
      expect(answer.data.tokenSearch.totalCount).toBe(35);

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
      await expect
        .poll(() => page.evaluate(() => navigator.clipboard.readText()))
        .toBe(await code.textContent());

      await page.getByRole('tab', { name: 'Apollo' }).press('ArrowRight');
      expect(await page.getByRole('tab', { selected: true }).innerText()).toBe('Query');
      expect(await page.locator('footer').innerText()).toMatch(
        /\d+ ms\s+[\d.]+ kB\s+fresh, \d+ s old\s+gateway: (miss|hit)\s+Open in the playground/,
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

    it('is a bar on a phone, which opens as a sheet; the search stays visible', async () => {
      const { page, search, rows, code, pair } = await open(demo.address, {
        viewport: { width: 360, height: 640 },
        hasTouch: true,
        isMobile: true,
      });
      await rows.first().waitFor();
      const box = await rows.first().boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(480);
      await page.evaluate(() => scrollTo(0, 1500));
      await expect.poll(async () => (await search.boundingBox())?.y).toBeLessThan(20);
      expect(await code.isVisible()).toBe(false);
      await rows.first().tap();
      const toggle = page.getByRole('button', { name: 'Code' });
      const close = page.getByRole('button', { name: 'Close' });
      const hasFocus = (one: Locator) => one.evaluate((element) => element === document.activeElement);
      const shade = () => page.touchscreen.tap(180, 20);
      for (const shut of [() => page.keyboard.press('Escape'), () => close.tap(), shade]) {
        await toggle.tap();
        expect([await code.isVisible(), await hasFocus(close)]).toEqual([true, true]);
        expect(await page.locator('.skip, nav, main > .card').evaluateAll(areInert)).toEqual(
          Array(3).fill(true),
        );
        for (const tab of await page.getByRole('tab').all()) {
          const { x, width } = (await tab.boundingBox()) ?? { x: 0, width: 360 };
          expect(x + width).toBeLessThan(360);
        }
        expect((await pair.locator('.id').boundingBox())?.height).toBeLessThan(24);
        await shut();
        expect([await code.isVisible(), await hasFocus(toggle)]).toEqual([false, true]);
        expect(await search.evaluate((box) => box.closest('[inert]'))).toBe(null);
        expect(await toggle.getAttribute('aria-expanded')).toBe('false');
      }
    });

    it('comes after a summary of both sides, which a phone shows without the sheet', async () => {
      const OTHER = 'bsc:0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d';
      const { page, pair, rows, sent } = await open(
        `${demo.address}/?token=base:${USDC_ON_BASE}&to=${OTHER}`,
        {
          permissions: ['clipboard-read', 'clipboard-write'],
          viewport: { width: 360, height: 640 },
          hasTouch: true,
          isMobile: true,
        },
      );
      const copies = page.getByRole('button', { name: /^Copy (?!the address)/ });
      // Not found by its role, because the closed sheet hides it.
      const code = page.locator('#code');
      await pair.getByText('Decimals differ: 6 on Base, 18 on BNB Chain.').waitFor();
      await expect.poll(() => code.textContent()).toContain('tokensByKey(');
      expect([await code.isVisible(), await copies.allInnerTexts()]).toEqual([false, ['Copy query']]);
      await copies.tap();
      await expect
        .poll(() => page.evaluate(() => navigator.clipboard.readText()))
        .toBe(sent.findLast(({ variables }) => variables.keys)?.query);
      await expect.poll(() => copies.allInnerTexts()).toEqual(['Copy query']);
      const link = new URL((await pair.getByRole('link').getAttribute('href')) ?? '', demo.address);
      expect(JSON.parse(link.searchParams.get('variables') ?? '').keys).toHaveLength(2);
      await page.getByRole('button', { name: 'Code' }).tap();
      await page.getByRole('tab', { name: 'curl' }).tap();
      expect(await copies.allInnerTexts()).toEqual(['Copy curl']);
      await page.getByRole('button', { name: 'Close' }).tap();
      await rows.filter({ hasText: 'on Arbitrum' }).tap();
      await pair.getByText('USDC on Arbitrum').waitFor();
      expect(await pair.getByText('Decimals differ').count()).toBe(0);
    });

    it('has a time that is not green after half a second, and lines whose wrapped parts are indented', async () => {
      const { page, search, found, code } = await open(demo.address);
      await page.route('**/graphql', async (route) => {
        await new Promise((go) => setTimeout(go, 600));
        await route.continue().catch(() => {});
      });
      await search.fill('usdt');
      await expect.poll(() => found.innerText()).toMatch(/ for “usdt”$/);
      const [slow, fast] = await page.locator('#took').evaluate((time) => {
        const color = getComputedStyle(time).color;
        time.classList.remove('slow');
        return [color, getComputedStyle(time).color];
      });
      expect(slow).not.toBe(fast);
      const paddings = await code
        .locator('.code-line')
        .evaluateAll((lines) => lines.map((line) => Number.parseFloat(getComputedStyle(line).paddingLeft)));
      const [least = 0] = paddings;
      const indents = (await code.textContent())?.split('\n').map((line) => line.search(/\S/));
      expect(paddings.map((padding) => Math.round((2 * padding) / least) - 2)).toEqual(indents);
    });

    it('needs neither introspection nor the playground', async () => {
      const { address } = await startGatewayProcess({ INTROSPECTION: 'false', GRAPHIQL: 'false' });
      const { page, rows, code } = await open(`${address}/?q=usdc`);
      await rows.first().waitFor();
      expect(await code.textContent()).toContain('tokenSearch(');
      expect(await page.getByRole('link', { name: 'Open in the playground' }).count()).toBe(0);
    });
  });

  describe('The status', () => {
    it('shows the status of the listings, and updates ages without requests', async () => {
      const { page, sent, state } = await open(demo.address);
      await expect.poll(() => state.innerText()).toMatch(/^fresh, \d+ (s|min) old$/);
      await expect.poll(() => page.locator('#prices').innerText()).toMatch(/^prices \d+ (s|min) old$/);
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
      expect((await rowTexts(rows)).map(inOneLine)).toEqual([
        'Listing State Age Rows Left out Held back Source Last failure',
        expect.stringMatching(/^chains FRESH \d+ (s|min) 108 0 0 demo none$/),
        expect.stringMatching(/^tokens FRESH \d+ (s|min) 587 0 0 demo none$/),
      ]);
    });

    it('says why prices are stale, and which requests the service failed to answer', async () => {
      const listings = { chains: [chainRow('a')], tokens: [tokenRow('a', '0x1')] };
      const { page, upstream, rows, state, fault, note } = await openWith(listings, {
        settings: { TOKENS_FRESH_MS: '500' },
      });
      await expect.poll(() => rows.count()).toBe(1);
      upstream.plan('tokens', status(500));
      await expect
        .poll(async () => {
          await lookAgain(page);
          return state.innerText();
        })
        .toMatch(/^Prices are \d+ (s|min) old\. The token service does not answer\.$/);
      expect(await state.getAttribute('class')).toBe('warned');
      await rows.first().click();
      await fault.getByText('The token service does not answer. Retrying…').waitFor();
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

    it('keeps its rows while the gateway does not answer, says so, and recovers', async () => {
      const PORT = String(await freePort());
      const { address, child, exited } = await startGatewayProcess({ PORT });
      const { page, search, rows, found, fault, state } = await open(`${address}/?q=usdc`);
      await expect.poll(() => found.innerText()).toBe('89 tokens for “usdc”');
      const shown = await rows.count();
      child.kill('SIGKILL');
      await exited;
      await search.fill('usdt');
      await fault.getByText('This gateway does not answer. Retrying…').waitFor();
      expect([await rows.count(), await found.innerText()]).toEqual([shown, 'These are the earlier rows.']);
      // The card already says that the gateway does not answer, so the line of the state is hidden.
      await state.and(page.locator('.warned')).waitFor({ state: 'attached' });
      expect(await state.isVisible()).toBe(false);
      await startGatewayProcess({ PORT });
      await expect.poll(() => found.innerText()).toMatch(/^\d+ tokens for “usdt”$/);
      expect(await fault.innerText()).toBe('');
    });

    it('updates prices by itself, and moves neither rows nor the focus', async () => {
      const { address } = await startGatewayProcess({ TOKENS_FRESH_MS: '200' });
      const { page, search, rows, sent } = await open(`${address}/?q=eth`);
      await rows.nth(1).waitFor();
      const kept = await rows.nth(1).elementHandle();
      await search.press('ArrowDown');
      const before = await rows.locator('.price').allInnerTexts();
      const titles = await rows.locator('.title').allInnerTexts();
      await expect
        .poll(
          async () => {
            await lookAgain(page);
            return rows.locator('.price').allInnerTexts();
          },
          { interval: 300 },
        )
        .not.toEqual(before);
      expect(await rows.locator('.title').allInnerTexts()).toEqual(titles);
      expect(await kept?.evaluate((row) => row.className)).toBe('row takes');
      expect(sent.filter(({ query }) => query.startsWith('query Tokens('))).toHaveLength(2);
      await expect.poll(() => page.locator('#prices').innerText()).toMatch(/^prices \d s old$/);
    });
  });

  describe('Accessibility', () => {
    it.each([
      ['light', 1440, {}],
      ['dark', 320, {}],
      ['dark', 2560, {}],
      // This is the width of a laptop's screen at 200 % zoom.
      ['light', 640, { height: 400 }],
    ] as const)(
      'meets the rules in %s at %d pixels in all states, and fits',
      async (colorScheme, width, { height = 800 }: { height?: number }) => {
        const { page, search, rows, note, fault, state, otherRows } = await open(demo.address, {
          bypassCSP: true,
          colorScheme,
          viewport: { width, height },
        });
        await page.addScriptTag({ path: AXE });
        const faults = async () => {
          expect(
            await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
          ).toBeLessThanOrEqual(0);
          const { violations } = await page.evaluate<{
            violations: { id: string; nodes: { html: string }[] }[];
          }>('axe.run()');
          return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
        };
        await rows.first().waitFor();
        expect(await faults()).toEqual([]);
        await search.fill('usdc base');
        await otherRows.first().waitFor();
        await search.press('Enter');
        await page.locator('#found', { hasText: '35 places' }).waitFor();
        await rows.first().click();
        await page.getByRole('button', { name: /^To USDC/ }).waitFor();
        expect(await faults()).toEqual([]);
        await page.getByRole('button', { name: 'more chains' }).click();
        await page.getByRole('searchbox', { name: 'Find a chain' }).fill('a');
        expect(await faults()).toEqual([]);
        const isPhone = await page.locator('#sheet').isVisible();
        if (isPhone) await page.locator('#sheet').click();
        expect(await faults()).toEqual([]);
        await state.click();
        expect(await faults()).toEqual([]);
        await page.keyboard.press('Escape');
        if (isPhone) await page.locator('#close').click();
        await search.fill('usdcc');
        await note.getByRole('button', { name: 'Did you mean USDC?' }).waitFor();
        expect(await faults()).toEqual([]);
        await page.route('**/graphql', (route) => route.abort());
        await search.fill('eth');
        await fault.getByText('This gateway does not answer.').waitFor();
        expect(await faults()).toEqual([]);
        const isLight = await page.locator('body').evaluate((body) => {
          const [text = 0, ground = 0] = [
            getComputedStyle(body).color,
            getComputedStyle(body).backgroundColor,
          ].map((color) => Number(/\d+/.exec(color)?.[0]));
          return ground > text;
        });
        expect(isLight).toBe(colorScheme === 'light');
      },
    );

    it('shows choices and switches in forced colours', async () => {
      const { page, search, rows } = await open(demo.address, { forcedColors: 'active' });
      await search.fill('usdc');
      await rows.first().waitFor();
      const marked = (selector: string) =>
        page
          .locator(selector)
          .first()
          .evaluate((one) => getComputedStyle(one).outlineStyle);
      for (const selector of [
        '.slot[aria-pressed=true]',
        '.row.takes',
        '#chains label:has(:checked)',
        '[role=tab][aria-selected=true]',
      ]) {
        expect([selector, await marked(selector)]).toEqual([selector, 'solid']);
      }
      expect(await marked('.slot[aria-pressed=false]')).toBe('none');
      const colors = await page.locator('#shortcut').evaluate((one) => {
        const on = getComputedStyle(one).borderColor;
        one.ariaPressed = 'false';
        return [on, getComputedStyle(one).borderColor];
      });
      expect(colors[0]).not.toBe(colors[1]);
    });

    it('has a skip link, and no animation for people who prefer reduced motion', async () => {
      const { page, search } = await open(demo.address, { reducedMotion: 'reduce' });
      await page.locator('.skip').focus();
      await page.keyboard.press('Enter');
      await expect.poll(() => search.evaluate((box) => box === document.activeElement)).toBe(true);
      expect(
        await page.locator('#tokens').evaluate((list) => getComputedStyle(list).transitionDuration),
      ).toBe('0s');
    });
  });
});

/** Whether neither a pointer nor the keyboard reaches each of these elements. */
function areInert(elements: (Element & { inert?: boolean })[]) {
  return elements.map((element) => element.inert === true);
}

/** Changes prices, as between two responses of the upstream. */
function withoutPrices(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (name, value: unknown) => (name === 'price' ? undefined : value)));
}
