import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, onTestFinished } from 'vitest';
import { BROWSER_TIMEOUT_MS, launchBrowser } from '../../support/browser.js';
import { afterTests } from '../../support/ends.js';
import { type FakeListings, startFakeUpstream } from '../../support/fake-upstream.js';
import { fixedLimits } from '../../support/fixed-limits.js';
import { startGatewayProcess } from '../../support/gateway-process.js';

/** The requests of the page to the graph. */
export interface Sent {
  readonly query: string;
  readonly variables: Record<string, unknown>;
}

/** Starts a browser and a gateway with demo data, which all tests of a file use. */
export function usePicker() {
  let browser: Browser;
  const demo = { address: '' };
  const atEnd = afterTests();
  beforeAll(async () => {
    browser = await launchBrowser(atEnd);
    demo.address = (await startGatewayProcess({}, atEnd)).address;
  });
  const open = (address: string, options?: BrowserContextOptions) => openPicker(browser, address, options);

  /** Opens the page of another gateway, whose upstream has these rows. */
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
      ...fixedLimits({ upstreamRetries: 0 }),
      ...settings,
    });
    return { upstream, address, ...(await open(address + path, options)) };
  }
  return { demo, open, openWith };
}

/** Lets the page query the state of the listings now. Otherwise it does so at fixed intervals. */
export const lookAgain = (page: Page) =>
  page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));

/** Opens the page, and records its requests and the errors of the browser. */
export async function openPicker(browser: Browser, address: string, options: BrowserContextOptions = {}) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(BROWSER_TIMEOUT_MS);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const sent: Sent[] = [];
  const hosts = new Set<string>();
  const complaints: string[] = [];
  page.on('request', (request) => {
    hosts.add(new URL(request.url()).host);
    const body = request.postData();
    if (body) sent.push(JSON.parse(body) as Sent);
  });
  page.on('console', (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(address);
  return { page, sent, hosts, complaints, ...partsOf(page) };
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
    from: page.getByRole('button', { name: /^From/ }),
    to: page.getByRole('button', { name: /^To / }),
    /** The text without the letters in glyphs. */
    fromText: async () => inOneLine(await page.locator('#from .what').innerText()),
    toText: async () => inOneLine(await page.locator('#to .what').innerText()),
    pair: page.getByRole('region', { name: 'Chosen tokens' }),
    found: page.locator('#found'),
    note: page.locator('#note'),
    fault: page.getByRole('alert'),
    state: page.locator('#state'),
    code: page.getByRole('tabpanel').locator('#code'),
  };
}

/** An element's text in single spaces. */
export function inOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** The texts of rows without the letters in their glyphs. */
export async function rowTexts(rows: Locator): Promise<string[]> {
  // innerText is not used, because it leaves out rows that are not visible.
  const texts = await rows.evaluateAll((all) =>
    all.map((row) =>
      [...row.children].map((part) => (part.matches('.glyph') ? '' : part.textContent)).join(' '),
    ),
  );
  return texts.map(inOneLine);
}
