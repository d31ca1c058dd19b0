import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { isBrowserMissing, launchBrowser } from '../../support/browser.js';
import { afterTests } from '../../support/ends.js';
import { type FakeListings, json, startFakeUpstream, status } from '../../support/fake-upstream.js';
import { freePort } from '../../support/free-port.js';
import { ask, startGatewayProcess } from '../../support/gateway-process.js';
import { withHeldBack } from '../../support/held-back.js';
import { ROOT } from '../../support/readme.js';
import { startServer } from '../../support/test-server.js';
import { inOneLine, openPicker, rowTexts } from './open-picker.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const USDC_ON_ETHEREUM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const USDC_ON_BASE = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const run = promisify(execFile);

describe.skipIf(isBrowserMissing)('The picker in a real browser', { timeout: 300_000 }, () => {
  let browser: Browser;
  let demo: string;
  const atEnd = afterTests();

  beforeAll(async () => {
    browser = await launchBrowser(atEnd);
    demo = (await startGatewayProcess({}, atEnd)).address;
  });

  const open = (address: string, options?: BrowserContextOptions) => openPicker(browser, address, options);

  /** A gateway with an upstream that has these rows. */
  async function openWith(
    listings: FakeListings,
    {
      settings = {},
      path = '',
      ...options
    }: BrowserContextOptions & { settings?: Record<string, string>; path?: string } = {},
  ) {
    const upstream = await startFakeUpstream(listings);
    onTestFinished(upstream.close);
    const { address } = await startGatewayProcess({
      UPSTREAM_URL: upstream.url,
      UPSTREAM_RETRIES: '0',
      ...settings,
    });
    return { upstream, address, ...(await open(address + path, options)) };
  }

  /** The time until the page polls the status of the listings again. */
  const lookAgain = (page: Page) =>
    page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));

  describe('Finding', () => {
    it('shows the best matches first, marks the row that Enter chooses, and puts tokens that cannot be moved below', async () => {
      const { search, found, rows, others, otherRows } = await open(demo);
      await search.fill('usdc');
      await expect.poll(() => found.innerText()).toBe('89 tokens for “usdc”');
      const first = rows.first();
      expect((await rowTexts(first))[0]).toBe('USDC on Ethereum USD Coin · 0xA0b8…eB48 $0.9998');
      expect(await first.locator('mark').allInnerTexts()).toEqual(['USDC']);
      expect(await first.getAttribute('class')).toBe('row takes');
      expect(await rows.locator('xpath=self::*[contains(@class, "takes")]').count()).toBe(1);
      await search.fill('usdc base');
      await expect.poll(() => found.innerText()).toMatch(/ for “usdc base”$/);
      const listed = Number.parseInt(await found.innerText(), 10);
      const movable = await rows.count();
      expect(movable).toBeGreaterThan(0);
      expect(await others.getAttribute('aria-label')).toBe(
        `Listed, but cannot be moved (${listed - movable})`,
      );
      expect(await otherRows.count()).toBe(listed - movable);
      await search.fill('eth ethereum');
      await expect
        .poll(async () => (await rowTexts(rows.first()))[0])
        .toMatch(/^ETH on Ethereum\s+Ether · native asset/);
    });

    it('finds a pasted address in any letter case', async () => {
      const { search, rows } = await open(demo);
      await search.fill(USDC_ON_ETHEREUM.toLowerCase());
      await expect.poll(() => rowTexts(rows)).toEqual([expect.stringMatching(/^USDC on Ethereum\s/)]);
    });

    it('offers chains by their movable tokens, and the rest behind a button', async () => {
      const { page, rows, found, sent } = await open(demo);
      const { chains } = (
        await ask<{ chains: { name: string; tokens: { isBridgeable: boolean }[] }[] }>(
          demo,
          '{ chains { name tokens { isBridgeable } } }',
        )
      ).data;
      const chips = page.getByRole('radiogroup', { name: 'Chain' }).getByRole('radio');
      const names = () => page.locator('#chains label').allInnerTexts();
      await expect.poll(() => chips.count()).toBe(9);
      await page.getByRole('button', { name: '100 more chains' }).click();
      await expect.poll(() => chips.count()).toBe(chains.length + 1);
      const movable = new Map(
        chains.map(({ name, tokens }) => [name, tokens.filter((token) => token.isBridgeable).length]),
      );
      const counts = (await names()).slice(1).map((name) => movable.get(name) ?? Number.NaN);
      expect(counts).toEqual(counts.toSorted((a, b) => b - a));
      await page.getByRole('button', { name: 'Fewer chains' }).click();

      await chips.first().focus();
      await page.keyboard.press('ArrowRight');
      const [, name = ''] = await names();
      await expect.poll(() => found.innerText()).not.toBe('587 tokens');
      expect(await chips.nth(1).evaluate((chip) => chip === document.activeElement)).toBe(true);
      for (const text of await rows.locator('.on').allInnerTexts()) expect(text).toBe(`on ${name}`);
      const chainKey = new URL(page.url()).searchParams.get('chain');
      expect(sent.findLast(({ query }) => query.startsWith('query Tokens('))?.variables).toEqual({
        query: '',
        filter: { chainKeys: [chainKey], isBridgeable: true },
        others: { chainKeys: [chainKey], isBridgeable: false },
      });
    });

    it('offers ways out of an empty result', async () => {
      const { page, search, note, rows } = await open(`${demo}/?q=etherem&chain=ethereum`);
      await note.getByText('No listed token matches.').waitFor();
      await note.getByRole('button', { name: 'Did you mean Ethereum?' }).click();
      await rows.first().waitFor();
      expect(await search.inputValue()).toBe('Ethereum');
      await search.fill('no such token');
      await note.getByRole('button', { name: 'Search all chains' }).click();
      await expect.poll(() => new URL(page.url()).search).toBe('?q=no+such+token');
      await note.getByRole('button', { name: 'Clear the search' }).click();
      await rows.first().waitFor();
      expect(await search.evaluate((box) => box === document.activeElement)).toBe(true);
    });

    it('shows placeholders until the first answer, and dims the rows of an older search', async () => {
      const { page, search, found } = await open('about:blank');
      let answer = () => {};
      let answered = new Promise<void>((resolve) => {
        answer = resolve;
      });
      await page.route('**/graphql', async (route) => {
        await answered;
        await route.continue().catch(() => {});
      });
      await page.goto(demo);
      await expect.poll(() => page.locator('#skeleton').isVisible()).toBe(true);
      answer();
      await expect.poll(() => found.innerText()).toBe('587 tokens');
      expect(await page.locator('#skeleton').isVisible()).toBe(false);
      answered = new Promise((resolve) => {
        answer = resolve;
      });
      await search.fill('usdt');
      const opacity = () => page.locator('#tokens').evaluate((list) => getComputedStyle(list).opacity);
      await expect.poll(opacity).toBe('0.5');
      answer();
      await expect.poll(opacity).toBe('1');
      expect(await found.innerText()).toMatch(/ for “usdt”$/);
    });

    it('appends 10,000 tokens page by page, each once, without drawing any again', async () => {
      const tokens = Array.from({ length: 10_000 }, (_, index) =>
        tokenRow('a', `0x${(index + 1).toString(16).padStart(40, '0')}`, {
          symbol: `T${index}`,
          isBridgeable: index % 2 === 0,
        }),
      );
      const { page, search, rows } = await openWith(
        { chains: [chainRow('a')], tokens },
        { settings: { TOKENS_FRESH_MS: '3600000' } },
      );
      await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(50);
      const first = await rows.first().elementHandle();
      await page.evaluate(async () => {
        const list = document.querySelector('#tokens');
        while (document.querySelectorAll('.row').length < 10_000) {
          list?.scrollTo(0, list.scrollHeight);
          await new Promise((next) => setTimeout(next, 20));
        }
      });
      const symbols = await page.locator('.row b').allTextContents();
      expect(new Set(symbols).size).toBe(10_000);
      expect(symbols).toHaveLength(10_000);
      expect(await first?.evaluate((row) => row === document.querySelector('.row'))).toBe(true);
      expect(await rows.last().getAttribute('aria-setsize')).toBe('5000');
      await search.press('ArrowDown');
      await search.press('End');
      await expect.poll(() => search.getAttribute('aria-activedescendant')).toBe('token-other-5000');
    });
  });

  describe('Choosing', () => {
    it('needs neither a mouse nor pauses: usdc base ⏎ arb ⏎', async () => {
      const { page, rows, pair, search, fromText, toText } = await open(demo, {
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      await page.keyboard.type('usdc base\narb\n');
      await expect.poll(toText).toBe('To USDC on Arbitrum');
      expect(await fromText()).toBe('From USDC on Base');
      await expect.poll(() => page.locator('#said').innerText()).toBe('To: USDC on Arbitrum.');
      expect(await page.locator('#found').innerText()).toBe('35 places for USDC');
      expect(await search.inputValue()).toBe('');
      expect(await rowTexts(rows.and(page.locator('[aria-selected=true]')))).toEqual([
        expect.stringMatching(/^USDC on Arbitrum/),
      ]);
      expect(new URL(page.url()).search).toMatch(
        new RegExp(`^\\?token=base:${USDC_ON_BASE}&to=arbitrum:0x\\w{40}$`),
      );

      expect(inOneLine(await pair.innerText())).toMatch(
        new RegExp(`^From eip155:8453 · ${USDC_ON_BASE} Copy To eip155:42161 · 0xaf88\\w+ Copy$`),
      );
      await pair.getByRole('button', { name: 'Copy the address of USDC on Base' }).click();
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(USDC_ON_BASE);
      const differing = await rows.locator('.differs').allInnerTexts();
      expect(new Set(differing)).toEqual(new Set(['18 decimals, not 6']));
      expect(differing.length).toBeLessThan(5);
    });

    it('chooses the first result of the latest text, never of an older answer', async () => {
      const { page, search, found, fromText } = await open(demo);
      await expect.poll(() => found.innerText()).toBe('587 tokens');
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
      await expect.poll(fromText).toContain('USDT');
    });

    it('shows tokens that cannot be reached, and does not let them be chosen', async () => {
      const { page, search, found, note, otherRows, others, toText } = await open(
        `${demo}/?token=base:${USDC_ON_BASE}`,
      );
      await expect.poll(() => found.innerText()).toBe('35 places for USDC');
      await search.fill('arb');
      await expect.poll(() => found.innerText()).toMatch(/ for USDC and “arb”$/);
      await otherRows.first().waitFor();
      expect(await others.getAttribute('aria-label')).toMatch(/^Listed, but cannot be reached \(\d+\)$/);
      expect(await otherRows.first().getAttribute('aria-disabled')).toBe('true');
      await otherRows.first().scrollIntoViewIfNeeded();
      const name = inOneLine((await otherRows.first().locator('.title').textContent()) ?? '');
      await otherRows.first().click({ force: true });
      await expect.poll(() => note.innerText()).toBe(`${name} is listed, but cannot be reached.`);
      expect(await toText()).toBe('To Choose a token');
      await search.fill('wbtc');
      await expect.poll(() => found.innerText()).toMatch(/ for USDC and “wbtc”$/);
      await otherRows.first().waitFor();
      await search.press('Enter');
      await page.waitForTimeout(200);
      expect(await toText()).toBe('To Choose a token');
    });

    it('swaps both sides, and says if there is no route back', async () => {
      const listings = {
        chains: [chainRow('a', { name: 'A' }), chainRow('b', { name: 'B' })],
        tokens: [tokenRow('a', '0x1'), tokenRow('b', '0x2')],
      };
      const { page, upstream, fromText, toText } = await openWith(listings, { path: '/?token=a:0x1' });
      upstream.plan('tokens', (response, request, nth) => {
        const isBack = request.url?.includes('srcChainKey=b') === true;
        json({ tokens: isBack ? [] : listings.tokens })(response, request, nth);
      });
      await page.getByRole('option').filter({ hasText: 'on B' }).click();
      await expect.poll(toText).toBe('To USDC on B');
      await page.getByRole('button', { name: 'Swap From and To' }).click();
      await expect.poll(toText).toBe('To USDC on A cannot be reached');
      expect(await fromText()).toBe('From USDC on B');
      await expect
        .poll(() => page.locator('#note').innerText())
        .toContain('The service lists nothing that this token can be moved to.');
      await page.reload();
      await expect.poll(toText).toBe('To USDC on A cannot be reached');
    });

    it('opens the state of a link, and goes back and forth between choices', async () => {
      const link = `${demo}/?token=base:${USDC_ON_BASE.toLowerCase()}`;
      const { page, rows, from, search, found, complaints, hosts, fromText, toText } = await open(link);
      await expect.poll(() => found.innerText()).toBe('35 places for USDC');
      expect(page.url()).toBe(link);
      await rows.filter({ hasText: 'on Arbitrum' }).click();
      await expect.poll(toText).toContain('Arbitrum');
      await from.click();
      await expect.poll(() => found.innerText()).toBe('587 tokens');
      expect(new URL(page.url()).searchParams.get('side')).toBe('from');
      await search.fill('usdt ethereum');
      await page.getByRole('tab', { name: 'curl' }).click();
      await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('usdt ethereum');
      const seen = async () => [
        await fromText(),
        await toText(),
        await found.innerText(),
        await rowTexts(rows.first()),
        await page.getByRole('tab', { selected: true }).innerText(),
      ];
      await expect.poll(() => found.innerText()).toMatch(/“usdt ethereum”$/);
      const before = await seen();
      await page.reload();
      await expect.poll(seen).toEqual(before);

      await search.press('Enter');
      await expect.poll(fromText).toMatch(/USDT/);
      expect(new URL(page.url()).searchParams.has('to')).toBe(false);
      await page.goBack();
      await expect.poll(toText).toContain('Arbitrum');
      await page.goForward();
      await expect.poll(fromText).toMatch(/USDT/);

      await page.goto(`${demo}/?token=base:unknown&chain=nowhere`);
      await expect.poll(fromText).toContain('Not listed');
      await page.getByText('No listed token matches.').waitFor();
      expect(complaints).toEqual([]);
      expect([...hosts]).toEqual([new URL(demo).host]);
    });

    it('remembers the last choices beside the card until they are forgotten', async () => {
      const { page, rows, pair, fromText } = await open(demo);
      await rows.filter({ hasText: 'USDC on Ethereum' }).click();
      await expect.poll(fromText).toContain('USDC');
      await page.goto(demo);
      const before = await page.locator('#tokens').boundingBox();
      await pair.getByRole('button', { name: 'USDC Ethereum' }).click();
      await expect.poll(fromText).toContain('USDC');
      expect(await page.locator('#tokens').boundingBox()).toEqual(before);
      await page.goto(demo);
      await pair.getByRole('button', { name: 'Forget the recent choices' }).click();
      expect(await pair.isVisible()).toBe(false);
      expect(await page.evaluate(() => localStorage.length)).toBe(0);
      // Foreign data in the storage is ignored.
      for (const stored of ['{', '"x"', '[null, 1, {"chainKey": 1}]']) {
        await page.evaluate((text) => localStorage.setItem('token-picker.recent', text), stored);
        await page.reload();
        await rows.first().waitFor();
        expect(await pair.isVisible()).toBe(false);
      }
    });

    it('focuses the search with one key, which can be switched off', async () => {
      const { page, search, rows } = await open(demo);
      await rows.first().waitFor();
      const isInSearch = () => search.evaluate((box) => box === document.activeElement);
      const key = page.getByRole('button', { name: 'The key / focuses the search' });
      await key.focus();
      await page.keyboard.press('/');
      expect([await isInSearch(), await search.inputValue()]).toEqual([true, '']);
      await key.click();
      await page.reload();
      expect(await key.getAttribute('aria-pressed')).toBe('false');
      await key.focus();
      await page.keyboard.press('/');
      expect(await isInSearch()).toBe(false);
    });
  });

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
      // The arrow keys can choose it.
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
        expect(await rows.locator('svg').count()).toBe(3);
      }
    });
  });

  describe('The code', () => {
    it('is the query that was sent, and each form of it runs and gives the same answer', async () => {
      const { page, code, sent, found, rows } = await open(`${demo}/?token=base:${USDC_ON_BASE}`, {
        permissions: ['clipboard-read', 'clipboard-write'],
      });
      await expect.poll(() => found.innerText()).toBe('35 places for USDC');
      const tab = async (name: string) => {
        await page.getByRole('tab', { name }).click();
        return (await code.textContent()) ?? '';
      };
      const last = sent.findLast(({ query }) => query.startsWith('query Tokens('));
      expect({ query: await tab('Query'), variables: JSON.parse(await tab('Variables')) }).toEqual(last);
      expect(last?.variables.filter).toEqual({ reachableFrom: { chainKey: 'base', address: USDC_ON_BASE } });
      const answer = JSON.parse(await tab('Answer'));
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
      await page.getByRole('button', { name: 'Copy', exact: true }).last().click();
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
      const { page, search, rows, code } = await open(demo, {
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
      const toggle = page.getByRole('button', { name: 'Code' });
      await toggle.tap();
      expect([await code.isVisible(), await toggle.getAttribute('aria-expanded')]).toEqual([true, 'true']);
      await page.keyboard.press('Escape');
      expect([await code.isVisible(), await toggle.getAttribute('aria-expanded')]).toEqual([false, 'false']);
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
      const { page, sent, state } = await open(demo);
      await expect.poll(() => state.innerText()).toMatch(/^fresh, \d+ (s|min) old$/);
      await expect.poll(() => page.locator('#prices').innerText()).toMatch(/^prices \d+ (s|min) old$/);
      // Retried if the page sent its poll of the listings meanwhile, which it does every ten seconds.
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
        .toMatch(
          /^Prices are \d+ (s|min) old\. The token service does not answer\. The page tries again automatically\.$/,
        );
      expect(await state.getAttribute('class')).toBe('warned');
      await rows.first().click();
      await fault
        .getByText('The token service does not answer. The page tries again automatically.')
        .waitFor();
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
      const { search, rows, found, fault, state } = await open(`${address}/?q=usdc`);
      await expect.poll(() => found.innerText()).toBe('89 tokens for “usdc”');
      const shown = await rows.count();
      child.kill('SIGKILL');
      await exited;
      await search.fill('usdt');
      await fault.getByText('This gateway does not answer. The page tries again automatically.').waitFor();
      expect([await rows.count(), await found.innerText()]).toEqual([shown, 'These are the earlier rows.']);
      await expect
        .poll(() => state.innerText())
        .toBe('This gateway does not answer. The page tries again automatically.');
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
      expect(sent.filter(({ query }) => query.startsWith('query Tokens('))).toHaveLength(1);
      await expect.poll(() => page.locator('#prices').innerText()).toMatch(/^prices \d s old$/);
    });
  });

  describe('Accessibility', () => {
    it.each([
      ['light', 1440, {}],
      ['dark', 320, {}],
      ['dark', 2560, {}],
      // The width of a laptop at 200 % zoom.
      ['light', 640, { height: 400 }],
    ] as const)(
      'meets the rules in %s at %d pixels in all states, and fits',
      async (colorScheme, width, { height = 800 }: { height?: number }) => {
        const { page, search, rows, note, fault, state, otherRows } = await open(demo, {
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
        await state.click();
        expect(await faults()).toEqual([]);
        await page.keyboard.press('Escape');
        if (await page.locator('#sheet').isVisible()) {
          await page.locator('#sheet').click();
          expect(await faults()).toEqual([]);
          await page.locator('#sheet').click();
        }
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
      const { page, search, rows } = await open(demo, { forcedColors: 'active' });
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
      const { page, search } = await open(demo, { reducedMotion: 'reduce' });
      await page.locator('.skip').focus();
      await page.keyboard.press('Enter');
      await expect.poll(() => search.evaluate((box) => box === document.activeElement)).toBe(true);
      expect(
        await page.locator('#tokens').evaluate((list) => getComputedStyle(list).transitionDuration),
      ).toBe('0s');
    });
  });
});

/** Changes prices, as between two responses of the upstream. */
function withoutPrices(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (name, value: unknown) => (name === 'price' ? undefined : value)));
}
