/** Draws the picture of the picker page in the README: `node test/pages/picker/screenshot.js`, after `npm run build`. It needs Chromium; CHROMIUM_PATH names it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const PICTURE = fileURLToPath(new URL('../../../src/pages/picker/picker.png', import.meta.url));
/** Small enough for a README: the file should stay below about 200 kB. */
const SIZE = { width: 1152, height: 588 };
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const executablePath = process.env.CHROMIUM_PATH ?? BROWSERS.find((path) => existsSync(path));
if (!executablePath) throw new Error('Chromium was not found. Install it, or set CHROMIUM_PATH.');

// Demo data, which is the same on every machine, without the settings of this machine.
const gateway = spawn(process.execPath, [MAIN], { env: { PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-gpu', '--disable-lcd-text', '--hide-scrollbars'],
});
try {
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' });
  await page.goto(await addressOf(gateway));
  await page.getByText(/^prices/).waitFor();
  await page.keyboard.type('usdc base\narb\n');
  await page.getByRole('button', { name: 'To USDC on Arbitrum' }).waitFor();
  await page.getByText('places for USDC').waitFor();
  await page.screenshot({ path: PICTURE });
  process.stdout.write(`Wrote ${PICTURE}\n`);
} finally {
  await browser.close();
  gateway.kill('SIGKILL');
  await once(gateway, 'exit');
}

/** Resolves with the gateway's address once it listens. */
async function addressOf({ stdout }) {
  let output = '';
  for await (const chunk of stdout) {
    output += chunk;
    const [, address] = /"address":"(http:[^"]+)\/graphql"/.exec(output) ?? [];
    if (address) return address;
  }
  throw new Error(`The gateway ended: ${output}`);
}
