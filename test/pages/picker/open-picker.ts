import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { PATIENCE_MS } from '../../support/browser.js';

/** What the page sent to the graph. */
export interface Sent {
  readonly query: string;
  readonly variables: Record<string, unknown>;
}

/** Opens the page, and keeps what it sends and what the browser complains of. */
export async function openPicker(browser: Browser, address: string, options: BrowserContextOptions = {}) {
  const browserContext = await browser.newContext(options);
  browserContext.setDefaultTimeout(PATIENCE_MS);
  onTestFinished(() => browserContext.close());
  const page = await browserContext.newPage();
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

/** What people with screen readers find their way by. */
function partsOf(page: Page) {
  const destinations = page.getByRole('region', { name: 'Destinations' });
  return {
    search: page.getByRole('searchbox', { name: 'Search tokens' }),
    rows: page.getByRole('listbox', { name: 'Tokens' }).getByRole('option'),
    destinations,
    destinationRows: destinations.getByRole('option'),
    pair: page.getByRole('region', { name: 'Transfer' }),
  };
}

/** An element's text in single spaces. */
export function inOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
