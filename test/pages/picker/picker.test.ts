import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { json } from '../../support/fake-upstream.js';
import { ask } from '../../support/gateway-process.js';
import { inOneLine, rowTexts, usePicker } from './open-picker.js';

const USDC_ON_ETHEREUM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const USDC_ON_BASE = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';

describe.skipIf(isBrowserMissing)('The picker in a real browser', { timeout: 300_000 }, () => {
  const { demo, open, openWith } = usePicker();

  describe('Finding', () => {
    it('shows the best matches first, marks the row that Enter chooses, and puts tokens that cannot be moved below', async () => {
      const { search, found, rows, others, otherRows } = await open(demo.address);
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
      const { search, rows } = await open(demo.address);
      await search.fill(USDC_ON_ETHEREUM.toLowerCase());
      await expect.poll(() => rowTexts(rows)).toEqual([expect.stringMatching(/^USDC on Ethereum\s/)]);
    });

    it('offers chains by their movable tokens, and the rest behind a button', async () => {
      const { page, rows, found, sent } = await open(demo.address);
      const { chains } = (
        await ask<{ chains: { name: string; tokens: { isBridgeable: boolean }[] }[] }>(
          demo.address,
          '{ chains { name tokens { isBridgeable } } }',
        )
      ).data;
      const chips = page.getByRole('radiogroup', { name: 'Chain' }).getByRole('radio');
      const names = () => page.locator('#chains label').allInnerTexts();
      const more = page.getByRole('button', { name: /^\d+ more chains$/ });
      for (const width of [320, 360, 1280]) {
        await page.setViewportSize({ width, height: 720 });
        await expect.poll(() => chipsCut(page)).toEqual([]);
        const count = await chips.count();
        expect(count).toBeGreaterThan(1);
        expect(await more.innerText()).toBe(`+${chains.length + 1 - count}`);
      }
      const few = await chips.count();
      await more.click();
      await expect.poll(() => chips.count()).toBe(chains.length + 1);
      const movable = new Map(
        chains.map(({ name, tokens }) => [name, tokens.filter((token) => token.isBridgeable).length]),
      );
      const counts = (await names()).slice(1).map((name) => movable.get(name) ?? Number.NaN);
      expect(counts).toEqual(counts.toSorted((a, b) => b - a));
      await chips.nth(1).check();
      const finder = page.getByRole('searchbox', { name: 'Find a chain' });
      await finder.fill(' ARBI');
      // The chosen chain stays, so that the keyboard reaches the group.
      await expect.poll(() => chips.count()).toBe(3);
      expect(await chips.nth(1).isChecked()).toBe(true);
      expect(await names()).toContain('Arbitrum');
      expect(await page.locator('#said').innerText()).toBe('1 chain');
      await page.getByRole('button', { name: 'Fewer chains' }).click();
      await expect.poll(() => chips.count()).toBe(few);
      await chips.first().check();

      await chips.first().focus();
      await page.keyboard.press('ArrowRight');
      const [, name = ''] = await names();
      await expect.poll(() => found.innerText()).not.toBe('587 tokens');
      expect(await chips.nth(1).evaluate((chip) => chip === document.activeElement)).toBe(true);
      for (const text of await rows.locator('.on').allInnerTexts()) expect(text).toBe(`on ${name}`);
      const chainKey = new URL(page.url()).searchParams.get('chain');
      const searches = sent.filter(({ query }) => query.startsWith('query Tokens('));
      expect(searches.slice(-2).map(({ variables }) => variables)).toEqual(
        [true, false].map((isBridgeable) => ({ filter: { chainKeys: [chainKey], isBridgeable } })),
      );
    });

    it('offers ways out of an empty result', async () => {
      const { page, search, note, rows } = await open(`${demo.address}/?q=etherem&chain=ethereum`);
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
      const clear = page.getByRole('button', { name: 'Clear the search' });
      expect(await clear.isVisible()).toBe(false);
      await search.fill('usdt');
      await clear.click();
      await expect.poll(() => new URL(page.url()).search).toBe('');
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
      await page.goto(demo.address);
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
      await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(30);
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
      const { page, rows, pair, search, fromText, toText } = await open(demo.address, {
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

      await expect
        .poll(async () => inOneLine(await pair.innerText()))
        .toMatch(
          new RegExp(
            `^USDC on Base → USDC on Arbitrum The service lists this route. A quote shows whether it works. From eip155:8453 · ${USDC_ON_BASE} To eip155:42161 · 0xaf88\\w+ Copy query Open in the playground ↗$`,
          ),
        );
      await pair.getByRole('button', { name: 'Copy the address of USDC on Base' }).click();
      await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(USDC_ON_BASE);
      const differing = await rows.locator('.differs').allInnerTexts();
      expect(new Set(differing)).toEqual(new Set(['18 decimals, not 6']));
      expect(differing.length).toBeLessThan(5);
    });

    it('chooses the first result of the latest text, never of an older answer', async () => {
      const { page, search, found, fromText } = await open(demo.address);
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
        `${demo.address}/?token=base:${USDC_ON_BASE}`,
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
      const link = `${demo.address}/?token=base:${USDC_ON_BASE.toLowerCase()}`;
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

      await page.goto(`${demo.address}/?token=base:unknown&chain=nowhere`);
      await expect.poll(fromText).toContain('Not listed');
      await page.getByText('No listed token matches.').waitFor();
      expect(complaints).toEqual([]);
      expect([...hosts]).toEqual([new URL(demo.address).host]);
    });

    it('remembers the last choices beside the card until they are forgotten', async () => {
      const { page, rows, pair, fromText } = await open(demo.address);
      await rows.filter({ hasText: 'USDC on Ethereum' }).click();
      await expect.poll(fromText).toContain('USDC');
      await page.goto(demo.address);
      await rows.first().waitFor();
      const before = await page.locator('#tokens').boundingBox();
      await pair.getByRole('button', { name: 'USDC Ethereum' }).click();
      await expect.poll(fromText).toContain('USDC');
      expect(await page.locator('#tokens').boundingBox()).toEqual(before);
      await page.goto(demo.address);
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
      const { page, search, rows } = await open(demo.address);
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
});

/** The names of the chips that do not fit in the line of the first one, or in the page. */
const chipsCut = (page: Page) =>
  page.locator('#chains label:visible').evaluateAll((labels) => {
    const boxes = labels.map((label) => label.getBoundingClientRect());
    const right = labels[0]?.parentElement?.getBoundingClientRect().right ?? 0;
    return labels.flatMap((label, at) =>
      boxes[at]?.top === boxes[0]?.top && (boxes[at]?.right ?? 0) <= right ? [] : [label.textContent],
    );
  });
