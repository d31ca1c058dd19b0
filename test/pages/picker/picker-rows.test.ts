/** The picker shows rows that need care: odd names, look-alikes, held-back values and logos. */
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { chainRow, PLACEHOLDER, tokenRow } from '../../fixtures/rows.js';
import { isBrowserMissing } from '../../support/browser.js';
import { type FakeListings, json, startFakeUpstream } from '../../support/fake-upstream.js';
import { withHeldBack } from '../../support/held-back.js';
import { startServer } from '../../support/test-server.js';
import { inOneLine, looking, rowTexts, says, usePicker } from './open-picker.js';

describe.skipIf(isBrowserMissing)('the picker in a real browser', { timeout: 300_000 }, () => {
  const { open, openWith } = usePicker();

  const TWINS = ['0x1111110000000000000000000000000000002222', '0x1111330000000000000000000000000000002222'];
  const ODD: FakeListings = {
    chains: [
      chainRow('a', { name: 'A chain with a long name, which is not cut whatever the width of the row' }),
      chainRow('b', { name: '<i>B</i>' }),
    ],
    tokens: [
      ...TWINS.map((address, index) => tokenRow('a', address, { symbol: index ? 'twin' : 'TWIN' })),
      tokenRow('a', '0x3333330000000000000000000000000000004444', { symbol: 'ELSE' }),
      tokenRow('a', '0x4', { symbol: 'FAKЕ', ...{ logoUrl: 'https://logos.test/good.svg' } }),
      tokenRow('b', PLACEHOLDER, {
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

  it('a row whose token is not listed any more cannot be chosen until it is listed again', async () => {
    const chains = [chainRow('a')];
    const tokens = [1, 2, 3].map((nth) => tokenRow('a', `0x${nth}`, { symbol: `S${nth}` }));
    const settings = { TOKENS_FRESH_MS: '300' };
    const { page, upstream, search, rows, note, fromText, takes } = await openWith(
      { chains, tokens },
      settings,
    );
    await search.fill('s3');
    await takes.waitFor();
    const row = rows.filter({ hasText: 'S3' });
    await row.waitFor();
    const isDisabled = (expected: string | null) =>
      expect.poll(looking(page, () => row.getAttribute('aria-disabled'))).toBe(expected);
    upstream.plan('tokens', json({ tokens: tokens.slice(0, 2) }));
    await isDisabled('true');
    // A test would wait until the row is enabled; a person presses it.
    await row.click({ force: true });
    const sentence = /^S3 on The a chain is not listed any more\.$/;
    await says(note, sentence);
    expect(await takes.count()).toBe(0);
    await note.evaluate((place) => place.replaceChildren());
    await search.press('Enter');
    await says(note, sentence);
    await says(fromText, 'From Choose a token on any chain');
    upstream.plan('tokens', json({ tokens }));
    await isDisabled(null);
    await row.click();
    await says(fromText, /S3/);
  });

  it('rows show names as text and load no logos; twins and letters of another script are not chosen by Enter', async () => {
    const { page, search, note, rows, otherRows, fromText, complaints, hosts, address } = await openWith(ODD);
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
      ['twin', /^Two tokens look alike here: check the address, then choose one in the list\.$/],
      ['fakе', /^This symbol has letters that look like others: check the address, then choose it in/],
    ] as const) {
      await search.fill(typed);
      await search.press('Enter');
      await says(note, sentence);
      expect(await search.inputValue()).toBe(typed);
      await says(fromText, 'From Choose a token on any chain');
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

  it('look-alike rows show the address of a token, and of a native asset that it has none', async () => {
    const chain = chainRow('a', { name: 'A' });
    const { page, rows } = await openWith({
      chains: [chain],
      tokens: [TWINS[0] ?? '', PLACEHOLDER].map((address) =>
        tokenRow('a', address, { symbol: 'ETH', name: 'Ether', decimals: 18 }),
      ),
    });
    await rows.nth(1).waitFor();
    await expect
      .poll(async () => (await rowTexts(rows)).sort())
      .toEqual([
        `ETH on A Ether · looks like another $0.9998 ${TWINS[0]}`,
        'ETH on A Ether · native asset · looks like another $0.9998',
      ]);
    expect(await page.locator('.takes').count()).toBe(0);
  });

  it.each([
    ['a letter of another alphabet', ['base', 'base'], ['U\u0405DC', 'USDC']],
    ['the key of the chain', ['a', 'b'], ['USDC', 'USDC']],
  ])('look-alike rows are not chosen by Enter if %s is all that differs', async (_what, keys, symbols) => {
    const { page, search, rows, note, fromText } = await openWith({
      chains: keys.map((key) => chainRow(key, { name: key === 'b' ? 'S\u0430me' : 'Same' })),
      tokens: TWINS.map((address, nth) => tokenRow(keys[nth] ?? '', address, { symbol: symbols[nth] })),
    });
    await rows.nth(1).waitFor();
    await search.click();
    await page.keyboard.type('usdc\n');
    await says(note, /^Two tokens look alike here: check the address, then choose one in the list\.$/);
    await says(fromText, 'From Choose a token on any chain');
    expect(await rows.getByText('looks like another').count()).toBe(2);
    expect((await rows.locator('.warning code').allTextContents()).sort()).toEqual(TWINS);
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

  it('rows and both sides show the accepted facts of a chosen token, and a token that is listed again', async () => {
    const chains = ['a', 'b', 'c'].map((key) => chainRow(key, { name: key }));
    const others = [tokenRow('b', '0x2'), tokenRow('c', '0x3', { decimals: 18 })];
    const { page, upstream, rows, fromText } = await openWith(
      { chains, tokens: [tokenRow('a', '0x1'), ...others] },
      { TOKENS_FRESH_MS: '200', HOLD_BACK_MS: '1' },
      '/?token=a:0x1',
    );
    const differing = rows.locator('.differs');
    await says(differing, '18 decimals, not 6');
    const saysFrom = (text: string) =>
      expect.poll(looking(page, async () => inOneLine(await fromText.innerText()))).toBe(text);
    const now = [tokenRow('a', '0x1', { symbol: 'NEW', decimals: 18 }), ...others];
    upstream.plan('tokens', json({ tokens: now }));
    await saysFrom('From NEW on a');
    await says(differing, '6 decimals, not 18');
    upstream.plan('tokens', json({ tokens: others }));
    await saysFrom('From Not listed');
    upstream.plan('tokens', json({ tokens: now }));
    await saysFrom('From NEW on a');
  });

  it('rows stay if only the time differs since when a chosen token is held back', async () => {
    const { page, upstream, pair, rows, searches } = await openWith(
      {
        chains: ['a', 'b'].map((key) => chainRow(key)),
        tokens: [tokenRow('a', '0x1'), tokenRow('b', '0x2')],
      },
      { TOKENS_FRESH_MS: '200' },
      '/?token=a:0x1',
    );
    await rows.first().waitFor();
    const age = page.locator('#prices time');
    const nextPrices = async () => {
      const before = await age.getAttribute('datetime');
      await expect.poll(looking(page, () => age.getAttribute('datetime'))).not.toBe(before);
    };
    const tokens = [tokenRow('a', '0x1', { decimals: 18 }), tokenRow('b', '0x2')];
    upstream.plan('tokens', json({ tokens }));
    await expect
      .poll(async () => {
        await nextPrices();
        return pair.locator('.warning').count();
      })
      .toBe(1);
    const before = searches().length;
    // Behind one address can be gateways that share nothing.
    await page.route('**/graphql', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replaceAll(/"since":"\d+/g, '"since":"2025');
      await route.fulfill({ response, body });
    });
    await nextPrices();
    await nextPrices();
    expect(searches()).toHaveLength(before);
    // The gateway ends before the page.
    await page.unrouteAll({ behavior: 'wait' });
  });

  it('rows below the first page have the prices of the time when they are shown', async () => {
    const tokens = (usd: number) =>
      Array.from({ length: 62 }, (_, index) =>
        tokenRow('a', `0x${index + 1}`, { symbol: `T${index}`, isBridgeable: index < 60, price: { usd } }),
      );
    const { page, upstream } = await openWith(
      { chains: [chainRow('a')], tokens: tokens(1) },
      { TOKENS_FRESH_MS: '200' },
      '/?q=usd',
    );
    const prices = page.locator('#tokens .price');
    await expect.poll(() => prices.count()).toBe(50);
    upstream.plan('tokens', json({ tokens: tokens(1.5) }));
    await expect.poll(looking(page, () => prices.first().textContent())).toBe('$1.50');
    await page.locator('#tokens').evaluate((list) => list.scrollTo(0, list.scrollHeight));
    await expect.poll(() => prices.allTextContents()).toEqual(Array(62).fill('$1.50'));
  });

  it('the summary shows decimals beside their chain if names are written from right to left', async () => {
    const { pair } = await openWith(
      {
        chains: ['سلسلة', 'شبكة'].map((name, index) => chainRow(`c${index}`, { name })),
        tokens: [6, 18].map((decimals, index) => tokenRow(`c${index}`, '0x1', { decimals })),
      },
      {},
      '/?token=c0:0x1&to=c1:0x1',
    );
    const line = pair.locator('p', { hasText: 'Decimals differ' });
    // The summary is then not drawn again.
    await pair.getByText('This route is listed.').waitFor();
    const places = await line.evaluate(
      (element, parts) => {
        const text = element.firstChild as Text;
        return parts.map((part) => {
          const range = document.createRange();
          range.setStart(text, text.data.indexOf(part));
          range.setEnd(text, text.data.indexOf(part) + part.length);
          return range.getBoundingClientRect().left;
        });
      },
      ['6 on', 'سلسلة', '18', 'شبكة'],
    );
    expect([...new Set(places)].toSorted((a, b) => a - b)).toEqual(places);
  });

  it('rows show logos with LOGOS=true, and the glyph if a picture fails to load, which is not requested again', async () => {
    const tokens = ['good', 'bad', 'none'].map((name, index) =>
      tokenRow('a', `0x${index + 1}`, {
        symbol: name,
        ...(name === 'none' ? {} : { logoUrl: `https://logos.test/${name}.svg` }),
      }),
    );
    const { page, upstream, rows } = await openWith(
      { chains: [chainRow('a')], tokens },
      { LOGOS: 'true', TOKENS_FRESH_MS: '200' },
    );
    const body = '<svg xmlns="http://www.w3.org/2000/svg"/>';
    await page.route('https://logos.test/good.svg', (route) =>
      route.fulfill({ contentType: 'image/svg+xml', body }),
    );
    await page.reload();
    await expect.poll(() => rows.count()).toBe(3);
    await expect.poll(() => rows.locator('img').count()).toBe(1);
    expect((await rows.locator('.glyph').allTextContents()).sort()).toEqual(['BT', 'GT', 'NT']);
    // The picture of the token does not cover the mark of its chain.
    const isMarkOnTop = await rows.filter({ has: page.locator('img') }).evaluate((row) => {
      const { left = 0, top = 0 } = row.querySelector('.mark')?.getBoundingClientRect() ?? {};
      return document
        .elementFromPoint(left + 4, top + 4)
        ?.closest('.mark, img')
        ?.matches('.mark');
    });
    expect(isMarkOnTop).toBe(true);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    upstream.plan('tokens', json({ tokens: tokens.map((token) => ({ ...token, price: { usd: 2 } })) }));
    await expect
      .poll(looking(page, () => rows.locator('.price').allTextContents()))
      .toEqual(Array(3).fill('$2.00'));
    await page.evaluate(() => new Promise((next) => setTimeout(next, 100)));
    expect(asked.filter((url) => url.startsWith('https:'))).toEqual([]);
  });
});
