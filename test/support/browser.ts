/** A real headless Chromium that reaches only this machine, for tests of pages. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { AtEnd } from './ends.js';
import { isMissing } from './server-process.js';

/** A page, or the start of the browser, may take this long on a busy machine (milliseconds). */
export const BROWSER_TIMEOUT_MS = 120_000;

// The first cannot open windows, and takes a quarter less CPU time.
const CANDIDATES = [
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const executable = (process.env.CHROMIUM_PATH ? [process.env.CHROMIUM_PATH] : CANDIDATES).find(existsSync);

export const isBrowserMissing = isMissing(executable !== undefined, 'Chromium (or set CHROMIUM_PATH)');

/** @param atEnd registers the function that closes it; a browser for several tests is closed after all of them */
export async function launchBrowser(atEnd: AtEnd = onTestFinished): Promise<Browser> {
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
