/** Opens the picker in a browser, and finds its parts. */
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, expect, onTestFinished } from 'vitest';
import { BROWSER_TIMEOUT_MS, launchBrowser } from '../../support/browser.js';
import { afterTests } from '../../support/ends.js';
import { type FakeListings, type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.js';
import { startGatewayProcess } from '../../support/gateway-process.js';
import { fixedLimits } from '../../support/processes.js';

export const PHONE = { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true };
const DESKTOP = { width: 1280, height: 720 };

/** Starts a browser and a gateway with demo data, which all tests of a file use. */
export function usePicker() {
  let browser: Browser;
  let shared: Awaited<ReturnType<typeof newPage>>;
  const demo = { address: '' };
  const atEnd = afterTests();
  beforeAll(async () => {
    browser = await launchBrowser(atEnd);
    shared = await newPage(browser);
    demo.address = (await startGatewayProcess({}, atEnd)).address;
  });

  /** Opens an address, or a path of the demo. With options, the page gets a browser profile of its own. */
  async function open(path = '/', options?: BrowserContextOptions) {
    const opened = options ? await newPage(browser, options) : shared;
    const { page, sent, hosts, complaints } = opened;
    if (options) onTestFinished(() => page.context().close());
    else {
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.setViewportSize(DESKTOP);
      if (page.url().startsWith('http')) await page.evaluate(() => localStorage.clear());
      await page.goto('about:blank');
    }
    sent.length = complaints.length = 0;
    hosts.clear();
    await page.goto(new URL(path, demo.address).href);
    return { ...opened, ...partsOf(page) };
  }

  /** Opens the page of another gateway, whose upstream has these rows. @param prepare plans faults before its start */
  async function openWith(
    listings: FakeListings,
    settings: Record<string, string> = {},
    path = '/',
    prepare = (_upstream: FakeUpstream) => {},
  ) {
    const upstream = await startFakeUpstream(listings, onTestFinished);
    prepare(upstream);
    const gateway = await startGatewayProcess({
      UPSTREAM_URL: upstream.url,
      ...fixedLimits({ upstreamRetries: 0 }),
      ...settings,
    });
    return { upstream, ...gateway, ...(await open(gateway.address + path)) };
  }
  return { demo, open, openWith };
}

/** Opens an empty page, and records its requests and the errors of the browser. */
async function newPage(browser: Browser, options: BrowserContextOptions = {}) {
  const context = await browser.newContext({
    viewport: DESKTOP,
    // Tests measure places and colours, which animations change.
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
    ...options,
  });
  context.setDefaultTimeout(BROWSER_TIMEOUT_MS);
  const page = await context.newPage();
  const sent: {
    query: string;
    variables: { after?: string; filter?: Record<string, unknown>; keys?: unknown };
  }[] = [];
  const hosts = new Set<string>();
  const complaints: string[] = [];
  page.on('request', (request) => {
    hosts.add(new URL(request.url()).host);
    const body = request.postData();
    if (body) sent.push(JSON.parse(body));
  });
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(error.message));
  /** The searches so far: the requests for the first page of tokens that can be moved or reached. */
  const searches = () =>
    sent.filter(
      ({ query, variables: { after, filter } }) =>
        query.startsWith('query Tokens(') && !after && (filter?.isBridgeable || filter?.reachableFrom),
    );
  return { page, sent, searches, hosts, complaints };
}

/** The parts of the page, mostly found by their roles and names, as screen readers find them. */
function partsOf(page: Page) {
  const list = page.getByRole('listbox', { name: 'Tokens' });
  const others = list.getByRole('group', { name: /^Listed, but cannot be / });
  return {
    search: page.getByRole('combobox', { name: 'Token, chain or address' }),
    rows: list.getByRole('group', { name: 'Tokens that can be chosen' }).getByRole('option'),
    others,
    otherRows: others.getByRole('option'),
    /** The row that Enter chooses. */
    takes: list.locator('.takes'),
    from: page.getByRole('button', { name: /^From/ }),
    /** The text of the button, without the letters in its icon. */
    fromText: page.locator('#from .what'),
    toText: page.locator('#to .what'),
    pair: page.getByRole('region', { name: 'Chosen tokens' }),
    found: page.locator('#found'),
    note: page.locator('#note'),
    fault: page.getByRole('alert'),
    state: page.locator('#state'),
    code: page.getByRole('tabpanel').locator('#code'),
  };
}

/** Lets the page query the state of the listings now. Otherwise it does so at fixed intervals. */
export const lookAgain = (page: Page) =>
  page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));

/** Returns a function that lets the page query the state of the listings, and then returns this value. */
export const looking =
  <Value>(page: Page, value: () => Promise<Value>) =>
  async () => {
    await lookAgain(page);
    return value();
  };

/**
 * Holds requests to the graph until the returned function is called.
 *
 * @param isHeld which requests, by their bodies; the default holds all
 */
export async function holdRequests(page: Page, isHeld = (_body: string) => true) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/graphql', async (route) => {
    if (isHeld(route.request().postData() ?? '')) await released;
    // The page may have aborted the request.
    await route.continue().catch(() => {});
  });
  return release;
}

/** Waits until an element has this text, in single spaces. */
export async function says(place: Locator, text: string | RegExp) {
  await expect
    .poll(async () => inOneLine(await place.innerText()))
    .toEqual(typeof text === 'string' ? text : expect.stringMatching(text));
}

export const hasFocus = (place: Locator) => place.evaluate((element) => element === document.activeElement);

export const copied = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

export const inOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** The texts of rows, without the letters in their icons. */
export async function rowTexts(rows: Locator): Promise<string[]> {
  // innerText is not used, because it leaves out rows that are not visible.
  const texts = await rows.evaluateAll((all) =>
    all.map((row) =>
      [...row.children].map((part) => (part.matches('.glyph') ? '' : part.textContent)).join(' '),
    ),
  );
  return texts.map(inOneLine);
}

/** The names of controls that are less than 44 pixels high, which a finger can miss. */
export const smallTargets = (page: Page) =>
  page
    .locator('button:visible, nav a:visible, footer a:visible, #chains label:visible, #tokens .row:visible')
    .evaluateAll((all) =>
      all.flatMap((one) => (one.getBoundingClientRect().height < 44 ? [one.id || one.textContent] : [])),
    );
