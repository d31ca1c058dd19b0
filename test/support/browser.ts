import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { onTestFinished } from 'vitest';

/** How long a page, or the start of the browser, may take on a busy machine. */
export const PATIENCE_MS = 120_000;

const CANDIDATES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const executable = (process.env.CHROMIUM_PATH ? [process.env.CHROMIUM_PATH] : CANDIDATES).find(existsSync);

/**
 * Whether tests that need a browser are to be skipped. In CI they never are: a browser that is missing there fails
 * them.
 */
export const isBrowserMissing = !executable && !process.env.CI;

if (isBrowserMissing) {
  process.stderr.write(
    'Chromium is not installed: tests in a browser are skipped. Install it, or set CHROMIUM_PATH.\n',
  );
}

/**
 * Starts a real headless Chromium that can reach no name but this machine's; the test's end ends it.
 *
 * @param atEnd what takes the ending of it; one that several tests share ends after them
 */
export async function launchBrowser(
  atEnd: (end: () => Promise<void>) => void = onTestFinished,
): Promise<Browser> {
  if (!executable) throw new Error('Chromium is not installed, and in CI nothing may be skipped for that.');
  const browser = await chromium.launch({
    executablePath: executable,
    timeout: PATIENCE_MS,
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
