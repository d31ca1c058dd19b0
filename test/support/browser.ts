import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { onTestFinished } from 'vitest';

/** How long a page, or the start of the browser, may take on a busy machine, in milliseconds. */
export const BROWSER_TIMEOUT_MS = 120_000;

const CANDIDATES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const executable = (process.env.CHROMIUM_PATH ? [process.env.CHROMIUM_PATH] : CANDIDATES).find(existsSync);

/** Whether to skip tests that need a browser. In CI they are not skipped: a missing browser fails them. */
export const isBrowserMissing = !executable && !process.env.CI;

if (isBrowserMissing) {
  process.stderr.write(
    'Chromium is not installed: tests in a browser are skipped. Install it, or set CHROMIUM_PATH.\n',
  );
}

/**
 * Starts a real headless Chromium that can reach only this machine. The end of the test closes it.
 *
 * @param atEnd registers the function that closes it; a browser for several tests is closed after all of them
 */
export async function launchBrowser(
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
): Promise<Browser> {
  if (!executable) throw new Error('Chromium is not installed, and in CI its tests must not be skipped.');
  const browser = await chromium.launch({
    executablePath: executable,
    timeout: BROWSER_TIMEOUT_MS,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
  atEnd(() => browser.close());
  return browser;
}
