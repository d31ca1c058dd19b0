/** People choose tokens in the picker by a link, Back, a swap or the last choices; and it knows the route between them. */
import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow, USDC_ON_BASE } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { json } from '../../support/fake-upstream.js';
import { fixedLimits } from '../../support/processes.js';
import { hasFocus, holdRequests, inOneLine, looking, rowTexts, says, usePicker } from './open-picker.js';

const FROM_USDC = `/?token=base:${USDC_ON_BASE}`;
const USDC_ON_ARBITRUM = '0xaf88d065e77c8cC2239327C5EDb3A432268e5831';

describe.skipIf(isBrowserMissing)('the picker in a real browser', { timeout: 300_000 }, () => {
  const { demo, open, openWith } = usePicker();

  it('the picker asks for From first, says that a link loads, and keeps a choice that was made before it has loaded', async () => {
    const { page, search, found, rows, note, fromText } = await open();
    await says(found, '350 tokens can be moved');
    const to = page.getByRole('button', { name: /^To/ });
    await to.click();
    await to.click();
    await says(note, /^First choose a token for From\.$/);

    const isOfLink = (body: string) => body.includes('query TokensByKey');
    const load = await holdRequests(page, isOfLink);
    await page.goto(demo.address + FROM_USDC);
    await says(fromText, 'From Loading…');
    await search.fill('usdt ethereum');
    await rows.first().click();
    await says(found, /^\d+ places for USDT$/);
    const loaded = page.waitForResponse((response) => isOfLink(response.request().postData() ?? ''));
    load();
    await (await loaded).finished();
    // Leaves the page time to read the answer.
    await page.evaluate(() => new Promise((next) => setTimeout(next, 100)));
    await says(fromText, 'From USDT on Ethereum');
  });

  it('the picker opens the state of a link, and goes back and forth between choices', async () => {
    const link = FROM_USDC.toLowerCase();
    const { page, rows, from, search, found, note, complaints, hosts, fromText, toText } = await open(link);
    await says(found, '35 places for USDC');
    expect(page.url()).toBe(demo.address + link);
    await rows.filter({ hasText: 'on Linea' }).click();
    await says(toText, /Linea/);
    // After a reload the chosen row is in view, though many rows are above it.
    await page.reload();
    const chosenRow = page.getByRole('option', { selected: true });
    await expect
      .poll(() => chosenRow.evaluate((row) => row.getBoundingClientRect().bottom))
      .toBeLessThan(700);
    await rows.filter({ hasText: 'on Arbitrum' }).click();
    await says(toText, /Arbitrum/);
    await from.click();
    await says(found, '350 tokens can be moved');
    expect(new URL(page.url()).searchParams.get('side')).toBe('from');
    await search.fill('usdt ethereum');
    await page.getByRole('tab', { name: 'curl' }).click();
    await says(found, /“usdt ethereum”/);
    expect(new URL(page.url()).searchParams.get('q')).toBe('usdt ethereum');
    const seen = async () => [
      ...(await Promise.all([fromText, toText, found].map((place) => place.innerText()))),
      await rowTexts(rows.first()),
      await page.getByRole('tab', { selected: true }).innerText(),
    ];
    const before = await seen();
    await page.reload();
    await expect.poll(seen).toEqual(before);

    await search.press('Enter');
    await says(fromText, /USDT/);
    await page.goBack();
    await says(fromText, 'From USDC on Base');
    await says(toText, /Arbitrum/);
    await page.goForward();
    await says(fromText, /USDT/);

    await page.goto(`${demo.address}/?token=base:unknown&chain=nowhere`);
    await says(fromText, /Not listed/);
    await page.getByText('No listed token matches.').waitFor();
    await page.goto(`${demo.address}/?token=nope:0x1`);
    await says(note, /^A chosen token is not listed\.$/);
    await says(found, '350 tokens can be moved');
    await page.goto(`${demo.address}${FROM_USDC}&to=nope:0x1`);
    await says(note, /^A chosen token is not listed\.$/);
    await search.fill('usdt');
    await expect.poll(() => note.innerText()).not.toContain('A chosen token');
    expect(complaints).toEqual([]);
    expect([...hosts]).toEqual([new URL(demo.address).host]);
  });

  it('the picker does not show the earlier choice while another one loads slowly after Back', async () => {
    const { page, rows, fromText, toText } = await open(`${FROM_USDC}&to=arbitrum:${USDC_ON_ARBITRUM}`);
    await says(toText, 'To USDC on Arbitrum');
    await page.getByRole('button', { name: 'Swap From and To' }).click();
    await says(toText, 'To USDC on Base');
    await rows.first().waitFor();
    const answer = await holdRequests(page);
    await page.goBack();
    await expect.poll(() => fromText.innerText(), { timeout: 5000 }).toContain('Loading…');
    expect([await rows.count(), await page.locator('#skeleton').isVisible()]).toEqual([0, true]);
    answer();
    await says(fromText, 'From USDC on Base');
    await says(toText, 'To USDC on Arbitrum');
  });

  it('Back undoes all choices of chains that the arrow keys passed', async () => {
    const { page, found } = await open();
    const chips = page.getByRole('radiogroup', { name: 'Chain' }).getByRole('radio');
    await chips.nth(3).waitFor({ state: 'attached' });
    await chips.nth(1).check({ force: true });
    const before = page.url();
    await chips.nth(1).focus();
    for (const nth of [2, 3]) {
      await page.keyboard.press('ArrowRight');
      await expect.poll(() => chips.nth(nth).isChecked()).toBe(true);
    }
    await page.goBack();
    expect(page.url()).toBe(before);
    await page.goBack();
    await says(found, '350 tokens can be moved');
  });

  it('a link finds its chain in any letter case', async () => {
    const { page } = await open('/?chain=BASE');
    await page.getByRole('button', { name: 'More chains' }).waitFor();
    expect(await page.locator('#chains :checked').getAttribute('value')).toBe('base');
    expect(await page.locator('#chains [value="base" i]').count()).toBe(1);
  });

  it('a recent choice is for the side that the search is for', async () => {
    const { page, pair, fromText, toText } = await open();
    await page.keyboard.type('usdc base\narb\n');
    await says(toText, 'To USDC on Arbitrum');
    await page.goBack();
    await says(toText, 'To Choose a token on any chain');
    await pair.getByRole('button', { name: 'USDC Arbitrum' }).click();
    await says(toText, 'To USDC on Arbitrum');
    await says(fromText, 'From USDC on Base');
  });

  it('the picker remembers the last choices beside the card until they are forgotten, and never moves the list for them', async () => {
    const { page, search, rows, pair, fromText } = await open();
    const phone = { width: 360, height: 640 };
    const desktop = page.viewportSize() ?? phone;
    /** Where the first row is in a large window and on a phone. */
    const places = async () => {
      await rows.first().waitFor();
      const seen = [];
      for (const size of [phone, desktop]) {
        await page.setViewportSize(size);
        seen.push(await rows.first().boundingBox());
      }
      return seen;
    };
    const before = await places();
    await rows.filter({ hasText: 'USDC on Ethereum' }).click();
    await says(fromText, /USDC/);
    expect(await places()).toEqual(before);
    await page.goto(demo.address);
    await pair.getByRole('button', { name: 'USDC Ethereum' }).waitFor();
    expect(await places()).toEqual(before);
    await pair.getByRole('button', { name: 'USDC Ethereum' }).click();
    await says(fromText, /USDC/);
    expect(await hasFocus(search)).toBe(true);
    expect(await places()).toEqual(before);
    await page.goto(demo.address);
    await pair.getByRole('button', { name: 'Forget' }).press('Enter');
    const recent = pair.getByRole('group', { name: 'Recent choices' });
    expect([await recent.isVisible(), await hasFocus(search)]).toEqual([false, true]);
    expect(await places()).toEqual(before);
    expect(await page.evaluate(() => localStorage.length)).toBe(0);
    // Foreign data in the storage is ignored.
    for (const stored of ['{', '"x"', '[null, 1, {"chainKey": 1}]']) {
      await page.evaluate((text) => localStorage.setItem('token-picker.recent', text), stored);
      await page.reload();
      await rows.first().waitFor();
      expect(await recent.isVisible()).toBe(false);
    }
  });
  it('the picker swaps both sides, and says if there is no route back', async () => {
    const listings = {
      chains: [chainRow('a', { name: 'A' }), chainRow('b', { name: 'B' })],
      tokens: [tokenRow('a', '0x1'), tokenRow('b', '0x2')],
    };
    const { page, upstream, note, from, fromText, toText } = await openWith(listings, {}, '/?token=a:0x1');
    upstream.plan('tokens', (response, request, nth) => {
      const isBack = request.url?.includes('srcChainKey=b') === true;
      json({ tokens: isBack ? [] : listings.tokens })(response, request, nth);
    });
    await page.getByRole('option').filter({ hasText: 'on B' }).click();
    await says(toText, 'To USDC on B');
    await page.getByRole('button', { name: 'Swap From and To' }).click();
    await says(toText, 'To · no route USDC on A');
    await says(fromText, 'From USDC on B');
    await says(page.locator('#said'), 'From: USDC on B. To: USDC on A.');
    await says(note, /The service lists nothing that this token can be moved to\./);
    await page.reload();
    await says(toText, 'To · no route USDC on A');
    // It is still said if the same token is chosen again.
    await from.click();
    await page.getByRole('option', { selected: true }).click();
    await says(note, /The service lists nothing that this token can be moved to\./);
    await says(toText, 'To · no route USDC on A');
  });

  it('a choice can be taken back, and the title leads to the empty page', async () => {
    const { page, found, search, fromText, toText } = await open(
      `${FROM_USDC}&to=arbitrum:${USDC_ON_ARBITRUM}`,
    );
    const [none, chosen] = ['Choose a token on any chain', 'USDC on Arbitrum'];
    await says(toText, `To ${chosen}`);
    await page.getByRole('button', { name: 'Clear To' }).click();
    await says(toText, `To ${none}`);
    await says(found, '35 places for USDC');
    expect([await hasFocus(search), new URL(page.url()).searchParams.has('to')]).toEqual([true, false]);
    await page.goBack();
    await says(toText, `To ${chosen}`);
    // What can be chosen for To depends on From.
    await page.getByRole('button', { name: 'Clear From' }).click();
    await says(fromText, `From ${none}`);
    await says(toText, `To ${none}`);
    await says(found, '350 tokens can be moved');
    expect(await page.getByRole('button', { name: /^Clear (From|To)$/ }).count()).toBe(0);
    await page.goBack();
    await says(toText, `To ${chosen}`);
    await page.getByRole('link', { name: 'Chains and tokens' }).click();
    await says(fromText, `From ${none}`);
    expect(new URL(page.url()).search).toBe('');
  });

  it('the picker asks again for a route that was listed, and says that a chosen token is not listed any more', async () => {
    const listings = {
      chains: ['a', 'b', 'c'].map((key) => chainRow(key, { name: key })),
      tokens: ['a', 'b', 'c'].map((key) => tokenRow(key, '0x1')),
    };
    const { page, upstream, note, pair, fromText, toText } = await openWith(
      listings,
      { TOKENS_FRESH_MS: '200', ...fixedLimits({ upstreamRetries: 0, destinationsFreshMs: 200 }) },
      '/?token=a:0x1',
    );
    const pollUntil = (change: () => Promise<string | null>, text: RegExp) =>
      expect.poll(looking(page, async () => inOneLine((await change()) ?? ''))).toMatch(text);
    const summary = () => pair.innerText();
    const nextPrices = async () => {
      const time = page.locator('#prices time');
      const earlier = await time.getAttribute('datetime');
      await pollUntil(() => time.getAttribute('datetime'), new RegExp(`^(?!${earlier})`));
    };
    const onB = page.getByRole('option').filter({ hasText: 'on b' });
    await onB.click();
    await pollUntil(summary, /This route is listed\./);
    upstream.plan('routes', json({ tokens: [] }));
    // The row is of an older list.
    await expect
      .poll(async () => {
        await onB.click();
        return toText.innerText();
      })
      .toContain('no route');
    upstream.plan('routes', json({ tokens: listings.tokens }));
    await nextPrices();
    // It asks again after some minutes.
    const asked = upstream.routesAsked().length;
    const copyButton = pair.getByRole('button', { name: 'Copy the address of USDC on a' });
    await copyButton.focus();
    await nextPrices();
    expect(await hasFocus(copyButton)).toBe(true);
    expect(upstream.routesAsked()).toHaveLength(asked);
    await page.evaluate(() => {
      const { now } = Date;
      Date.now = () => now() + 600_000;
    });
    await pollUntil(summary, /This route is listed\./);

    upstream.plan('tokens', json({ tokens: listings.tokens.filter(({ chainKey }) => chainKey !== 'b') }));
    await pollUntil(() => toText.innerText(), /^To Not listed$/);
    await says(note, /^A chosen token is not listed\.$/);
    await says(fromText, 'From USDC on a');
  });
});
