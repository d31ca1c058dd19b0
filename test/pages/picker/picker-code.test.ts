/** The picker shows code that runs; on a phone, a button in a bar opens it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { USDC_ON_BASE } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { ROOT } from '../../support/readme.js';
import { copied, hasFocus, holdRequests, PHONE, says, smallTargets, usePicker } from './open-picker.js';

const run = promisify(execFile);

describe.skipIf(isBrowserMissing)('the picker in a real browser', { timeout: 300_000 }, () => {
  const { demo, open } = usePicker();

  it('the code is the query that was sent, and each form of it runs and gives the same answer', async () => {
    const { page, code, searches, found, rows } = await open(`/?token=base:${USDC_ON_BASE}`);
    await says(found, '35 places for USDC');
    const tab = async (name: string) => {
      await page.getByRole('tab', { name }).click();
      return (await code.textContent()) ?? '';
    };
    const last = searches().at(-1);
    expect(last?.query.split('\n').length).toBeLessThanOrEqual(12);
    expect({ query: await tab('Query'), variables: JSON.parse(await tab('Variables')) }).toEqual(last);
    expect(last?.variables).toEqual({
      filter: { reachableFrom: { chainKey: 'base', address: USDC_ON_BASE } },
    });
    // Below the query are its variables and the beginning of its answer. The lines of the query do not wrap.
    await tab('Query');
    const [variables, shownAnswer, heights] = await Promise.all([
      page.locator('#variables').innerText(),
      page.locator('#answer').innerText(),
      code.locator('.code-line').evaluateAll((lines) => lines.map(({ clientHeight }) => clientHeight)),
    ]);
    expect(JSON.parse(variables)).toEqual(last?.variables);
    expect(shownAnswer).toMatch(/^\{\n {2}"data": \{\n {4}"tokenSearch": \{\n[\s\S]*\n… shortened$/);
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
    expect(answer.data.tokenSearch.totalCount).toBe(35);
    // The first lines have colours; the rest of a long answer is one text.
    expect(await code.locator('.code-line').count()).toBe(200);

    const same = (given: string) =>
      expect(withoutPrices(JSON.parse(given))).toEqual(withoutPrices(answer.data));
    const { stdout } = await run('bash', ['-c', await tab('curl')], { maxBuffer: 1e7 });
    same(JSON.stringify(JSON.parse(stdout).data));
    expect(await tab('fetch')).toMatch(/\n {4}query: `query .*\n {6}tokenSearch\(/);
    for (const name of ['fetch', 'Apollo']) {
      const text = `${await tab(name)}\nprocess.stdout.write(JSON.stringify(data, (key, value) => key === '__typename' ? undefined : value));`;
      same(
        (await run(process.execPath, ['--input-type=module', '-e', text], { cwd: ROOT, maxBuffer: 1e7 }))
          .stdout,
      );
    }
    await page.getByRole('button', { name: 'Copy Apollo' }).click();
    await expect.poll(() => page.locator('#copy.done').innerText()).toBe('Copied');
    await expect.poll(() => copied(page)).toBe(await code.textContent());

    const selected = page.getByRole('tab', { selected: true });
    for (const [key, name] of [
      ['Home', 'Query'],
      ['End', 'Apollo'],
      ['ArrowRight', 'Query'],
    ] as const) {
      await selected.press(key);
      expect([key, await selected.innerText(), await hasFocus(selected)]).toEqual([key, name, true]);
    }
    // This code was not copied.
    expect(await page.locator('.done').count()).toBe(0);
    await says(
      page.locator('footer'),
      /\d+ ms [\d.]+ kB gateway( cache)? fresh, \d+ s old Open in the playground/,
    );
    await rows.first().waitFor();
    // It opens beside the picker, which keeps its tokens.
    const [playground, request] = await Promise.all([
      page.waitForEvent('popup'),
      page.context().waitForEvent('request', (one) => one.postData()?.includes('query Tokens(') === true),
      page.getByRole('link', { name: 'Open in the playground' }).click(),
    ]);
    expect(JSON.parse(request.postData() ?? '').variables).toEqual(last?.variables);
    await playground
      .locator('#answer-facts')
      .getByText(/ms · .* kB · cost \d+ · gateway; /)
      .waitFor();
  });

  it('the code is that of the tokens that were chosen last and of their route, though an earlier answer comes later', async () => {
    const { page, found, rows, code } = await open(`/?token=base:${USDC_ON_BASE}`);
    await says(found, '35 places for USDC');
    const variables = page.locator('#variables');
    let pairs = 0;
    const letGo = await holdRequests(page, (body) => body.includes('query Route') && ++pairs === 1);
    const first = page.waitForResponse(
      (response) => response.request().postData()?.includes('"linea"') === true,
    );
    await rows.filter({ hasText: 'on Linea' }).click();
    await expect.poll(() => pairs).toBe(1);
    await rows.filter({ hasText: 'on Arbitrum' }).click();
    await expect.poll(() => variables.innerText()).toContain('"arbitrum"');
    letGo();
    await (await first).finished();
    // Leaves the page time to show the answer.
    await page.evaluate(() => new Promise((next) => setTimeout(next, 100)));
    expect(await variables.innerText()).toContain('"arbitrum"');
    await page.getByRole('tab', { name: 'curl' }).click();
    const { stdout } = await run('bash', ['-c', (await code.textContent()) ?? '']);
    const { tokensByKey, route } = JSON.parse(stdout).data;
    const chains = tokensByKey.map(({ chainKey }: { chainKey: string }) => chainKey);
    expect([chains, route.nodes]).toEqual([['base', 'arbitrum'], [{ id: tokensByKey[1].id }]]);
  });

  it('a second copy is said for as long as the first one', async () => {
    const { page, rows } = await open('/', {});
    await rows.first().waitFor();
    await page.clock.install();
    await page.getByRole('button', { name: 'Copy query' }).click();
    const done = page.locator('#copy.done');
    await done.waitFor();
    await page.clock.fastForward(1500);
    await page.getByRole('tab', { name: 'curl' }).click();
    await page.getByRole('button', { name: 'Copy curl' }).click();
    await done.waitFor();
    await page.clock.fastForward(1000);
    expect(await done.count()).toBe(1);
    await page.clock.fastForward(1500);
    await page.getByRole('button', { name: 'Copy curl' }).waitFor();
  });

  it('the code is a bar on a phone, which opens as a sheet below a summary of both sides; all targets are large', async () => {
    const { page, search, rows, code, pair, sent } = await open('/', PHONE);
    await rows.first().waitFor();
    const links = page.getByRole('navigation', { name: 'More' }).getByRole('link');
    expect(await links.count()).toBe(0);
    await page.getByRole('button', { name: 'More pages' }).tap();
    await expect.poll(() => links.allInnerTexts()).toEqual(['Playground', 'Schema', 'llms.txt', 'Guide']);
    expect(await smallTargets(page)).toEqual([]);
    // A tap beside the menu only closes it: the row below is not chosen.
    const { x = 0, y = 0 } = (await rows.nth(1).boundingBox()) ?? {};
    await page.touchscreen.tap(x + 20, y + 20);
    await expect.poll(() => links.count()).toBe(0);
    expect(await rows.nth(1).getAttribute('aria-selected')).toBe('false');
    expect(await page.locator('#from').innerText()).toContain('Choose a token');
    // The list of all chains closes when a chain is chosen.
    await page.getByRole('button', { name: 'More chains' }).tap();
    await page.getByRole('radio', { name: 'Polygon', exact: true }).tap({ force: true });
    const finder = page.getByRole('textbox', { name: 'Find a chain' });
    await expect.poll(() => finder.isVisible()).toBe(false);
    await page.getByRole('radio', { name: 'All' }).tap({ force: true });
    await rows.getByText('on Ethereum').first().waitFor();
    const box = await rows.first().boundingBox();
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(480);
    await page.evaluate(() => scrollTo(0, 1500));
    await expect.poll(async () => (await search.boundingBox())?.y).toBeLessThan(20);
    expect(await code.isVisible()).toBe(false);
    // A keyboard leaves little room: the rows get that of the header and the slots.
    await page.evaluate(() => scrollTo(0, 0));
    await search.tap();
    await expect.poll(async () => (await search.boundingBox())?.y).toBeLessThan(20);
    // Later than the second tap of a double tap, which chooses nothing.
    await page.waitForTimeout(700);
    await rows.first().tap();
    await says(page.locator('#from .what'), /on Ethereum$/);
    // The slots name the choice, and are in view; the bar shows only warnings.
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
    expect(await pair.isVisible()).toBe(false);
    // The keyboard of the phone would hide the bar.
    expect(await hasFocus(search)).toBe(false);
    const toggle = page.getByRole('button', { name: 'Code' });
    const close = page.getByRole('button', { name: 'Close' });
    const shade = () => page.touchscreen.tap(180, 20);
    for (const shut of [() => page.keyboard.press('Escape'), () => close.tap(), shade]) {
      expect(await smallTargets(page)).toEqual([]);
      await toggle.tap();
      await expect.poll(async () => [await code.isVisible(), await hasFocus(close)]).toEqual([true, true]);
      const areInert = await page
        .locator('.skip, header, main > .card')
        .evaluateAll((all) => all.map((one) => (one as Element & { inert?: boolean }).inert));
      expect(areInert).toEqual([true, true, true]);
      for (const tab of await page.getByRole('tab').all()) {
        const { x, width } = (await tab.boundingBox()) ?? { x: 0, width: 360 };
        expect(x + width).toBeLessThan(360);
      }
      // The tabs stay under the thumb, however long the code is.
      const tops = [];
      for (const name of ['Variables', 'Answer', 'Query']) {
        await page.getByRole('tab', { name }).tap();
        tops.push((await page.getByRole('tablist').boundingBox())?.y);
      }
      expect(new Set(tops).size).toBe(1);
      expect((await pair.locator('.id').boundingBox())?.height).toBeLessThan(24);
      expect((await page.locator('footer').boundingBox())?.height).toBeLessThan(64);
      expect(await smallTargets(page)).toEqual([]);
      await shut();
      await expect.poll(async () => [await code.isVisible(), await hasFocus(toggle)]).toEqual([false, true]);
      expect(await search.evaluate((box) => box.closest('[inert]'))).toBe(null);
      expect(await toggle.getAttribute('aria-expanded')).toBe('false');
    }

    await page.goto(
      `${demo.address}/?token=base:${USDC_ON_BASE}&to=bsc:0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d`,
    );
    const copies = page.getByRole('button', { name: /^Copy (?!the address)/ });
    await pair.getByText('Decimals differ: 6 on Base, 18 on BNB Chain.').waitFor();
    // The closed sheet hides the code, so it cannot be found by its role.
    await expect.poll(() => page.locator('#code').textContent()).toContain('tokensByKey(');
    expect([await code.isVisible(), await copies.allInnerTexts()]).toEqual([false, ['Copy query']]);
    await copies.tap();
    const { query, variables } = sent.findLast((one) => one.query.startsWith('query Route(')) ?? {};
    await expect.poll(() => copied(page)).toBe(`# Variables: ${JSON.stringify(variables)}\n${query}`);
    await expect.poll(() => copies.allInnerTexts()).toEqual(['Copy query']);
    await toggle.tap();
    const playground = page.getByRole('link', { name: 'Open in the playground' });
    const link = new URL((await playground.getAttribute('href')) ?? '', demo.address);
    expect(JSON.parse(link.searchParams.get('variables') ?? '')).toEqual({
      from: { chainKey: 'base', address: USDC_ON_BASE },
      toChain: 'bsc',
      toAddress: '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d',
    });
    await page.getByRole('tab', { name: 'curl' }).tap();
    await expect.poll(() => copies.allInnerTexts()).toEqual(['Copy curl']);
    await close.tap();
    await rows.filter({ hasText: 'on Arbitrum' }).tap();
    await says(page.locator('#to .what'), 'To USDC on Arbitrum');
    expect(await pair.getByText('Decimals differ').count()).toBe(0);

    // If the browser has no clipboard, "Copy" opens the sheet and selects the code.
    await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
    await copies.tap();
    await expect.poll(() => code.isVisible()).toBe(true);
    const compact = async (text: Promise<string>) => (await text).replace(/\s/g, '');
    await expect
      .poll(() => compact(page.evaluate(() => `${getSelection()}`)))
      .toBe(await compact(code.innerText()));

    // A long identifier of a chain leaves place for the address.
    await page.goto(`${demo.address}/?token=solana:EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v`);
    await toggle.tap();
    const id = pair.locator('.id').filter({ hasText: 'yTDt1v' });
    await id.waitFor();
    expect(await id.evaluate((line) => line.scrollWidth - line.clientWidth)).toBe(0);
  });

  it('Back closes the code or the list of chains and nothing else, and another way to close them leaves no entry', async () => {
    const { page, rows, searches, found, fromText, complaints } = await open('/', PHONE);
    await rows.first().waitFor();
    await rows.first().tap();
    await says(found, /^\d+ places for /);
    const chosen = page.url();
    const toggle = page.getByRole('button', { name: 'Code' });
    const more = page.getByRole('button', { name: 'More chains' });
    const close = page.getByRole('button', { name: 'Close', exact: true });
    const panel = page.getByRole('tabpanel');
    const finder = page.getByRole('textbox', { name: 'Find a chain' });
    const asked = searches().length;
    const isClosed = async () => {
      await expect
        .poll(async () => [await panel.isVisible(), await finder.isVisible()])
        .toEqual([false, false]);
      await expect.poll(() => page.evaluate(() => history.state)).toBe(null);
    };
    await toggle.tap();
    await page.getByRole('tab', { name: 'curl' }).tap();
    await page.goBack();
    await isClosed();
    // The tab that was chosen stays.
    expect(page.url()).toBe(`${chosen}&code=curl`);
    await more.tap();
    await finder.waitFor();
    // Two at once are closed one after the other.
    await toggle.tap();
    await panel.waitFor();
    await page.goBack();
    await expect.poll(async () => [await panel.isVisible(), await finder.isVisible()]).toEqual([false, true]);
    await page.goBack();
    await isClosed();
    for (const shut of [
      () => page.keyboard.press('Escape'),
      () => close.tap(),
      () => page.touchscreen.tap(180, 20),
    ]) {
      await toggle.tap();
      await panel.waitFor();
      await shut();
      await isClosed();
    }
    await more.tap();
    await page.getByRole('button', { name: 'Close the chains' }).tap();
    await isClosed();
    expect(searches()).toHaveLength(asked);

    // A chain that is chosen in the list takes the place of the entry.
    await more.tap();
    await page.getByRole('radio', { name: 'Polygon', exact: true }).tap({ force: true });
    await expect.poll(() => page.url()).toContain('chain=polygon');
    await isClosed();
    await page.goBack();
    await expect.poll(() => page.url()).toBe(`${chosen}&code=curl`);
    await says(found, /^\d+ places for /);
    await page.goBack();
    await says(fromText, 'From Choose a token on any chain');
    expect(complaints).toEqual([]);
  });

  it('the picker shows the best match of a new search, wherever the page was scrolled before', async () => {
    const { page, search, rows, found } = await open('/', PHONE);
    await rows.first().waitFor();
    await page.evaluate(() => scrollTo(0, 1500));
    await search.fill('usdc');
    await says(found, '89 tokens for “usdc”, 80 can be moved');
    await expect
      .poll(async () => {
        const [above, first] = [await search.boundingBox(), await rows.first().boundingBox()];
        return (first?.y ?? Number.NaN) - (above?.y ?? 0) - (above?.height ?? 0);
      })
      .toBeGreaterThan(0);
    expect((await rows.first().boundingBox())?.y).toBeLessThan(400);
  });

  it.each([
    [320, 640],
    [360, 740],
    [390, 844],
    [820, 1180],
  ])(
    'the search of a touch screen of %j × %j stays where the focus put it, however few tokens match',
    async (width, height) => {
      const { page, search, rows, found, note } = await open('/', { ...PHONE, viewport: { width, height } });
      await rows.first().waitFor();
      await search.tap();
      const top = async () => Math.round((await search.boundingBox())?.y ?? Number.NaN);
      await expect.poll(top).toBe(8);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      for (const text of ['eth arb', 'no such token', 'usdc base', 'usdc']) {
        await search.fill(text);
        await says(found, text === 'no such token' ? /^0 tokens/ : new RegExp(`for “${text}”`));
        expect([text, await top()]).toEqual([text, 8]);
        // A way out of an empty result is above the keyboard.
        if (text === 'no such token') expect((await note.boundingBox())?.y).toBeLessThan(height / 3);
      }
      await search.fill(USDC_ON_BASE);
      await says(found, /^1 token for/);
      // The page becomes short again only after the press.
      await rows.first().tap();
      await says(page.locator('#from .what'), 'From USDC on Base');
    },
  );

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
});

/** Removes prices, which change between two answers. */
function withoutPrices(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, (name, value: unknown) => (name === 'price' ? undefined : value)));
}
