/** People find and choose a token and its destination in the picker, with a mouse, keys or a link. */
import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow, USDC, USDC_ON_BASE } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { ask } from '../../support/gateway-process.js';
import { copied, hasFocus, holdRequests, inOneLine, rowTexts, says, usePicker } from './open-picker.js';

const FROM_USDC = `/?token=base:${USDC_ON_BASE}`;
const USDC_ON_ARBITRUM = '0xaf88d065e77c8cC2239327C5EDb3A432268e5831';

describe.skipIf(isBrowserMissing)('the picker in a real browser', { timeout: 300_000 }, () => {
  const { demo, open, openWith } = usePicker();

  it('the picker shows the best matches first, marks the row that Enter chooses, and sends one request for each search', async () => {
    const { page, search, searches, found, rows, others, otherRows } = await open();
    await says(found, '350 tokens can be moved');
    expect(searches()).toHaveLength(1);
    await search.fill('usdc');
    await says(found, '89 tokens for “usdc”, 80 can be moved');
    const first = rows.first();
    expect((await rowTexts(first))[0]).toBe('USDC on Ethereum USD Coin · 0xA0b8…eB48 $0.9998');
    expect(await first.locator('mark').allInnerTexts()).toEqual(['USDC']);
    expect(await first.getAttribute('class')).toBe('row takes');
    expect(await page.locator('.takes').count()).toBe(1);

    await search.fill('usdc base');
    await says(found, / for “usdc base”, \d+ can be moved$/);
    const listed = Number.parseInt(await found.innerText(), 10);
    const movable = await rows.count();
    expect(movable).toBeGreaterThan(0);
    expect(await others.getAttribute('aria-label')).toBe(`Listed, but cannot be moved (${listed - movable})`);
    await expect.poll(() => otherRows.count()).toBe(listed - movable);
    expect(searches()).toHaveLength(3);

    await search.fill('eth ethereum');
    await expect
      .poll(async () => (await rowTexts(rows.first()))[0])
      .toMatch(/^ETH on Ethereum\s+Ether · native asset/);
    // A pasted address, in any letter case.
    await search.fill(USDC.toLowerCase());
    await expect.poll(() => rowTexts(rows)).toEqual([expect.stringMatching(/^USDC on Ethereum\s/)]);
    await says(found, '1 token for “0xa0b8…eb48”');
    expect(searches()).toHaveLength(5);
  });

  it('the picker offers chains by their movable tokens in one line, and the rest behind a button', async () => {
    const { page, search, rows, found, searches } = await open();
    const { chains } = (
      await ask<{ chains: { name: string; tokens: { isBridgeable: boolean }[] }[] }>(
        demo.address,
        '{ chains { name tokens { isBridgeable } } }',
      )
    ).data;
    const chips = page.getByRole('radiogroup', { name: 'Chain' }).getByRole('radio');
    const names = () => page.locator('#chains label > :is(bdi, span:not(.mark))').allInnerTexts();
    const more = page.getByRole('button', { name: 'More chains' });
    await more.waitFor();
    /** The names on the chips. The chips must be in one line, the chosen one in view, and the button must count the rest. */
    const shown = async () => {
      const given = await names();
      expect(await more.innerText()).toBe(`+${chains.length + 1 - given.length}`);
      const [tops, isInView] = await page.locator('#chains').evaluate((line) => {
        const place = line.getBoundingClientRect();
        const chosen = line.querySelector('label:has(:checked)')?.getBoundingClientRect() ?? new DOMRect();
        const tops = [...line.querySelectorAll('label')].map((label) => label.getBoundingClientRect().top);
        return [tops, chosen.left >= place.left && chosen.left < place.right] as const;
      });
      expect([new Set(tops).size, isInView]).toEqual([1, true]);
      return given;
    };
    const first = await shown();
    expect(first.slice(0, 4)).toEqual(['All chains', 'Ethereum', 'OP Mainnet', 'Base']);
    expect(first).toHaveLength(9);
    // The line scrolls to the chosen chip.
    const last = first.at(-1) ?? '';
    await chips.last().check({ force: true });
    expect([await shown(), await chips.last().isChecked()]).toEqual([first, true]);
    // The chain of a link is before the others.
    await page.reload();
    await expect.poll(() => chips.count()).toBe(first.length);
    expect((await shown())[1]).toBe(last);
    await chips.first().check({ force: true });
    expect(await shown()).toEqual(first);

    await more.click();
    await expect.poll(() => chips.count()).toBe(chains.length + 1);
    const finder = page.getByRole('textbox', { name: 'Find a chain' });
    expect(await hasFocus(finder)).toBe(true);
    const movable = new Map(
      chains.map(({ name, tokens }) => [name, tokens.filter((token) => token.isBridgeable).length]),
    );
    const counts = (await names()).slice(1).map((name) => movable.get(name) ?? Number.NaN);
    expect(counts).toEqual(counts.toSorted((a, b) => b - a));
    expect(counts).not.toContain(Number.NaN);
    // A choice with the keyboard keeps the list open, a press of the mouse closes it.
    await chips.nth(20).focus();
    await page.keyboard.press('Space');
    await finder.fill(' ARBI');
    await expect.poll(names).toEqual(['Arbitrum']);
    expect(await page.locator('#said').innerText()).toBe('1 chain');
    // The keyboard reaches the group, though the chosen chain does not match.
    await page.keyboard.press('Tab');
    expect(await hasFocus(chips.first())).toBe(true);
    // The names that begin with the text are first, and Enter chooses the marked one.
    await finder.fill('po');
    await expect.poll(names).toEqual(['Polygon', 'Polygon zkEVM', 'Tempo', 'Superposition']);
    expect(await page.locator('#chains .takes').innerText()).toMatch(/Polygon$/);
    // While a word is composed (as in Japanese), these keys belong to the composition.
    for (const key of ['Enter', 'Escape']) await finder.dispatchEvent('keydown', { key, isComposing: true });
    expect([await names(), await hasFocus(finder)]).toEqual([
      ['Polygon', 'Polygon zkEVM', 'Tempo', 'Superposition'],
      true,
    ]);
    await finder.fill('zzz');
    await page.getByText('No chain matches.').waitFor();
    await page.keyboard.press('Enter');
    expect([await chips.count(), await hasFocus(finder)]).toEqual([0, true]);
    await finder.fill('');
    expect(await chips.nth(20).isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Close the chains' }).click();
    await more.waitFor();
    // The chip of a chain that is none of the first is before them.
    expect(await chips.nth(1).isChecked()).toBe(true);
    expect((await shown()).slice(2)).toEqual(first.slice(1, -1));
    // Opened again, the list is scrolled to it.
    await more.click();
    const isChosenVisible = () =>
      page.locator('#chains').evaluate((list) => {
        const { top, bottom } = list.getBoundingClientRect();
        const chip = list.querySelector('label:has(:checked)')?.getBoundingClientRect();
        // Browsers scroll by whole pixels.
        return chip !== undefined && chip.top >= top - 1 && chip.bottom <= bottom + 1;
      });
    await expect.poll(isChosenVisible, { timeout: 5000 }).toBe(true);
    expect(await rows.first().isVisible()).toBe(false);
    await page.keyboard.press('Escape');
    await rows.first().waitFor();
    expect(await hasFocus(search)).toBe(true);
    await more.click();
    await page.goBack();
    await rows.first().waitFor();
    expect(await hasFocus(search)).toBe(true);
    // Enter chooses the first match.
    await more.click();
    await finder.fill('polyg');
    await page.keyboard.press('Enter');
    await more.waitFor();
    expect([(await shown())[1], await hasFocus(search)]).toEqual(['Polygon', true]);
    // A visible chip keeps its place when it is chosen: a second click hits the same one.
    const places = () => Promise.all([0, 1, 2, 3].map((at) => chips.nth(at).boundingBox()));
    await chips.first().check({ force: true });
    expect(await shown()).toEqual(first);
    const before = await places();
    await chips.nth(1).check({ force: true });
    await says(found, /^\d+ tokens? can be moved$/);
    await expect.poll(places).toEqual(before);
    expect(await hasFocus(search)).toBe(true);
    await chips.first().check({ force: true });
    await says(found, '350 tokens can be moved');

    await chips.first().focus();
    await page.keyboard.press('ArrowRight');
    const [, name = ''] = await names();
    await expect.poll(() => found.innerText()).not.toMatch(/^350 |^Earlier /);
    expect(await hasFocus(chips.nth(1))).toBe(true);
    for (const text of await rows.locator('.on').allTextContents()) expect(text).toBe(`on ${name}`);
    const chainKeys = [new URL(page.url()).searchParams.get('chain')];
    expect(searches().at(-1)?.variables).toEqual({
      filter: { chainKeys, isBridgeable: true },
    });
  });

  it('the picker offers ways out of an empty result', async () => {
    const { page, search, note, rows } = await open('/?q=etherem&chain=ethereum');
    await note.getByText('No listed token matches.').waitFor();
    await note.getByRole('button', { name: 'Did you mean Ethereum?' }).click();
    await rows.first().waitFor();
    expect(await search.inputValue()).toBe('Ethereum');
    await search.fill('no such token');
    await note.getByRole('button', { name: 'Search all chains' }).click();
    await expect.poll(() => new URL(page.url()).search).toBe('?q=no+such+token');
    expect(await hasFocus(search)).toBe(true);
    await note.getByRole('button', { name: 'Clear the search' }).click();
    await rows.first().waitFor();
    expect(await hasFocus(search)).toBe(true);
    const clear = page.getByRole('button', { name: 'Clear the search' });
    expect(await clear.isVisible()).toBe(false);
    await search.fill('usdt');
    await clear.click();
    await expect.poll(() => new URL(page.url()).search).toBe('');
  });

  it('the picker shows placeholders until the first answer, dims the rows of an older search, and marks slow answers', async () => {
    const { page, search, found } = await open('about:blank');
    const answerFirst = await holdRequests(page);
    await page.goto(demo.address);
    await expect.poll(() => page.locator('#skeleton').isVisible()).toBe(true);
    // The query is shown at once. The answer has a picture of lines.
    await says(page.locator('#code'), /^query Tokens\(/);
    await says(page.locator('#variables'), '{ "filter": { "isBridgeable": true } }');
    const [answerShown, linesOf] = [
      page.locator('#answer'),
      (one: Element) => getComputedStyle(one, '::before').boxShadow,
    ];
    expect([await answerShown.innerText(), await page.locator('#took').innerText()]).toEqual(['', '']);
    expect(await answerShown.evaluate(linesOf)).toContain('20px');
    answerFirst();
    await says(found, '350 tokens can be moved');
    expect(await page.locator('#skeleton').isVisible()).toBe(false);
    const answer = await holdRequests(page);
    await search.fill('usdt');
    const opacity = () => page.locator('#tokens').evaluate((list) => getComputedStyle(list).opacity);
    await expect.poll(opacity).toBe('0.5');
    await page.waitForTimeout(500);
    answer();
    await expect.poll(opacity).toBe('1');
    expect(await found.innerText()).toMatch(/ for “usdt”(, \d+ can be moved)?$/);
    const [slow, fast] = await page.locator('#took').evaluate((time) => {
      const color = getComputedStyle(time).color;
      time.classList.remove('slow');
      return [color, getComputedStyle(time).color];
    });
    expect(slow).not.toBe(fast);
  });

  it('the picker appends 500 tokens page by page, each once, without drawing any again', async () => {
    const tokens = Array.from({ length: 500 }, (_, index) =>
      tokenRow('a', `0x${(index + 1).toString(16).padStart(40, '0')}`, {
        symbol: `T${index}`,
        isBridgeable: index % 2 === 0,
      }),
    );
    const { page, search } = await openWith(
      { chains: [chainRow('a')], tokens },
      { TOKENS_FRESH_MS: '3600000' },
    );
    const rows = page.locator('#tokens .row');
    await rows.nth(49).waitFor();
    await page.locator('#tokens').evaluate((list) => list.scrollTo(0, 10));
    await page.waitForTimeout(500);
    // The end of these rows is far away, so no more are fetched.
    expect(await rows.count()).toBe(50);
    const { symbols, isSame, setSize } = await page.evaluate(async () => {
      const first = document.querySelector('#tokens .row');
      const list = document.querySelector('#tokens');
      const rows = list?.getElementsByClassName('row') ?? [];
      while (rows.length < 500) {
        list?.scrollTo(0, list.scrollHeight);
        await new Promise((next) => setTimeout(next, 50));
      }
      return {
        symbols: [...document.querySelectorAll('#tokens .row b')].map((symbol) => symbol.textContent),
        isSame: first === document.querySelector('#tokens .row'),
        setSize: document.querySelector('.found .row')?.getAttribute('aria-setsize'),
      };
    });
    expect([symbols.length, new Set(symbols).size, isSame, setSize]).toEqual([500, 500, true, '250']);
    await search.press('ArrowDown');
    await search.press('End');
    await expect.poll(() => search.getAttribute('aria-activedescendant')).toBe('token-other-250');
  });

  it('the picker needs neither a mouse nor pauses: usdc base ⏎ arb ⏎', async () => {
    const { page, rows, pair, found, search, fromText, toText } = await open();
    await page.keyboard.type('usdc base\narb\n');
    await says(toText, 'To USDC on Arbitrum');
    await says(fromText, 'From USDC on Base');
    await says(page.locator('#said'), 'To: USDC on Arbitrum.');
    await says(found, '35 places for USDC');
    expect(await search.inputValue()).toBe('');
    expect(await rowTexts(rows.and(page.locator('[aria-selected=true]')))).toEqual([
      expect.stringMatching(/^USDC on Arbitrum/),
    ]);
    expect(new URL(page.url()).search).toMatch(
      new RegExp(`^\\?token=base:${USDC_ON_BASE}&to=arbitrum:0x\\w{40}$`),
    );
    await says(
      pair,
      new RegExp(
        `^This route is listed. A quote shows whether it works. From eip155:8453 ${USDC_ON_BASE} Copy To eip155:42161 0xaf88\\w+ Copy$`,
      ),
    );
    // Screen readers announce every change.
    const announced = await page.locator('#said').evaluateHandle((said) => {
      const texts: (string | null)[] = [];
      new MutationObserver(() => texts.push(said.textContent)).observe(said, { childList: true });
      return texts;
    });
    for (const [label, address] of [
      ['Arbitrum', /^0xaf88/],
      ['Base', USDC_ON_BASE],
    ]) {
      await pair.getByRole('button', { name: `Copy the address of USDC on ${label}` }).click();
      await expect.poll(() => copied(page)).toMatch(address ?? '');
    }
    expect(await announced.jsonValue()).toEqual(['Copied.', 'Copied.']);
    const differing = await rows.locator('.differs').allTextContents();
    expect(new Set(differing)).toEqual(new Set(['18 decimals, not 6']));
    expect(differing.length).toBeLessThan(5);
  });

  it('the picker chooses the first result of the latest text, never of an older answer', async () => {
    const { page, search, found, fromText } = await open();
    await says(found, '350 tokens can be moved');
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
    await says(fromText, /USDT/);
  });

  it('the picker chooses one token by a double click, by a second Enter, and by Enter before the search changes', async () => {
    const { page, search, rows, found, fromText, toText } = await open();
    await says(found, '350 tokens can be moved');
    await rows.nth(2).click();
    await says(found, /^\d+ places for /);
    // The second press of a double click, at the same place.
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await says(toText, 'To Choose a token on any chain');
    // A quick tap on another row is another choice, though browsers count it as the second one.
    const { x = 0, y = 0 } = (await rows.nth(4).boundingBox()) ?? {};
    await page.mouse.move(x + 20, y + 28);
    await page.mouse.down({ clickCount: 2 });
    await page.mouse.up({ clickCount: 2 });
    await says(toText, /^To \S+ on /);

    await page.goto(demo.address);
    await says(found, '350 tokens can be moved');
    const answer = await holdRequests(page);
    await search.press('ArrowDown');
    await search.press('Enter');
    await search.press('Enter');
    answer();
    await says(found, /^\d+ places for /);
    await says(toText, 'To Choose a token on any chain');

    await page.goto(`${demo.address}/?q=usdc`);
    await says(found, /^89 tokens for “usdc”/);
    // The chips may not be loaded yet.
    const answerSearch = await holdRequests(page, (body) => body.includes('eurc'));
    await search.fill('eurc');
    await search.press('Enter');
    await page.getByRole('radio', { name: 'Base', exact: true }).check({ force: true });
    answerSearch();
    await says(found, /for “eurc”/);
    expect(await search.inputValue()).toBe('eurc');
    await says(fromText, 'From Choose a token on any chain');
  });

  it('the picker searches even if the browser allows no more changes of its address', async () => {
    const { page, search, found } = await open();
    await says(found, '350 tokens can be moved');
    await page.evaluate(() => {
      history.replaceState = () => {
        throw new DOMException('Too many calls.', 'SecurityError');
      };
    });
    await search.fill('usdt ethereum');
    await says(found, /for “usdt ethereum”/);
  });

  it('the picker chooses no token by Enter, and says why, if the best match cannot be moved or reached', async () => {
    const typed = [
      ['matic', 'MATIC on Polygon'],
      ['pol', 'MATIC on Polygon'],
      ['matic polygon', 'MATIC on Polygon'],
      ['sol', 'SOL on Solana'],
      ['optimism', 'OP on OP Mainnet'],
    ] as const;
    const { page, search, note, fromText, toText, takes } = await open();
    for (const [text, name] of typed) {
      await search.fill('');
      await page.keyboard.type(`${text}\n`);
      await says(note, new RegExp(`^${name} is listed, but cannot be moved\\. Choose another one\\.$`));
      await says(page.locator('#said'), `${name} is listed, but cannot be moved. Choose another one.`);
      await says(fromText, 'From Choose a token on any chain');
      // The note can still be about the previous text, so wait for the effect of this one.
      await expect.poll(async () => [await takes.count(), await search.inputValue()]).toEqual([0, text]);
    }
    // It is said before Enter, too, if there are rows that can be chosen. Enter does not move them.
    await search.fill('btc');
    await says(note, 'BTC on GOAT is listed, but cannot be moved.');
    expect([await note.locator('.warning').count(), await takes.count()]).toEqual([0, 0]);
    const first = page.getByRole('option').first();
    const before = await first.boundingBox();
    await search.press('Enter');
    await says(note, /^BTC on GOAT is listed, but cannot be moved\. Choose another one\.$/);
    expect(await first.boundingBox()).toEqual(before);
    await says(fromText, 'From Choose a token on any chain');

    await page.goto(demo.address + FROM_USDC);
    await says(fromText, 'From USDC on Base');
    for (const [text, name] of typed) {
      await search.fill('');
      await page.keyboard.type(`${text}\n`);
      // These two texts also name chains: Enter chooses the USDC of that chain.
      if (text === 'pol' || text === 'optimism') await says(toText, /^To USDC on (Polygon|OP Mainnet)$/);
      else
        await says(
          note,
          new RegExp(`^${name} is listed, but cannot be reached from USDC on Base\\. Choose another one\\.$`),
        );
    }
  });

  it('the picker shows tokens that cannot be moved or reached, and does not let them be chosen', async () => {
    const { page, search, found, note, otherRows, others, fromText, toText } = await open('/?q=s*usdc+base');
    await otherRows.first().click({ force: true });
    await says(note, /^S\*USDC on Base is listed, but cannot be moved\. Choose another one\.$/);
    // Enter chooses no row; the arrow keys select USDC, and then S*USDC.
    await search.press('Enter');
    await search.press('ArrowDown');
    await search.press('ArrowDown');
    await search.press('Enter');
    await says(fromText, 'From Choose a token on any chain');
    await page.goto(demo.address + FROM_USDC);
    await says(found, '35 places for USDC');
    await search.fill('arb');
    await says(found, / for USDC and “arb”$/);
    const other = otherRows.first();
    expect(await others.getAttribute('aria-label')).toMatch(/^Listed, but cannot be reached \(\d+\)$/);
    expect(await other.getAttribute('aria-disabled')).toBe('true');
    // The search for all tokens reads these words in another way than the search for those that can be reached.
    await search.fill('eth arb');
    await says(found, / for USDC and “eth arb”$/);
    await expect
      .poll(() => others.getAttribute('aria-label'))
      .toBe(`Listed, but cannot be reached (${await otherRows.count()})`);
    await search.fill('arb');
    await says(found, / for USDC and “arb”$/);
    const name = inOneLine((await other.locator('.title').textContent()) ?? '');
    await other.click({ force: true });
    await says(note, `${name} is listed, but cannot be reached from USDC on Base. Choose another one.`);
    expect(await toText.innerText()).toContain('Choose a token');
  });

  it.each([
    ['usdc ethereum', 'To USDC on Arbitrum', /^From: USDC on Ethereum\.$/],
    ['eth base', 'To · no route USDC on Arbitrum', /^From: ETH on Base\.$/],
    ['usdc arbitrum', 'To Choose a token on any chain', /^From: USDC on Arbitrum\. Now choose where to\.$/],
  ])('the picker keeps To for another From, unless both are the same: %s', async (typed, to, said) => {
    const { page, from, search, found, toText } = await open(`${FROM_USDC}&to=arbitrum:${USDC_ON_ARBITRUM}`);
    await says(toText, 'To USDC on Arbitrum');
    await from.click();
    await says(found, '350 tokens can be moved');
    await search.fill(typed);
    await search.press('Enter');
    await says(page.locator('#said'), said);
    await says(toText, to);
  });

  it('the second press of a double click leaves the focus in the search', async () => {
    const { page, search, rows } = await open();
    await rows.nth(1).waitFor();
    const answer = await holdRequests(page);
    await rows.nth(1).dblclick();
    expect(await hasFocus(search)).toBe(true);
    answer();
  });

  it('the picker focuses the search with one key, which can be switched off', async () => {
    const { page, search, rows } = await open();
    await rows.first().waitFor();
    const key = page.getByRole('button', { name: 'The key / focuses the search' });
    await key.focus();
    await page.keyboard.press('/');
    expect([await hasFocus(search), await search.inputValue()]).toEqual([true, '']);
    await page.keyboard.press('/');
    expect(await search.inputValue()).toBe('');
    await page.keyboard.type('a/');
    expect(await search.inputValue()).toBe('a/');
    await search.fill('');
    await key.click();
    await page.reload();
    expect(await key.getAttribute('aria-pressed')).toBe('false');
    await key.focus();
    await page.keyboard.press('/');
    expect(await hasFocus(search)).toBe(false);
  });
});
