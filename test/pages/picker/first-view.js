/**
 * Measures the first view of the picker page in Chromium: `node test/pages/picker/first-view.js <address>`, with a
 * gateway at that address and nothing else running. It prints one line for each size: medians in milliseconds, and
 * each task that blocked the page for over 50 ms. With two cores, these tasks mostly wait for a core. `own-core`
 * after the address gives the main thread of the page a core of its own (only on Linux).
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { chromium } from 'playwright-core';

const LOADS = 20;
const SIZES = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
];
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const [, , address = 'http://127.0.0.1:4000', option] = process.argv;
const executablePath = process.env.CHROMIUM_PATH ?? BROWSERS.find((path) => existsSync(path));
if (!executablePath) throw new Error('Chromium was not found. Install it, or set CHROMIUM_PATH.');

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
for (const viewport of SIZES) {
  const loads = [];
  for (let load = 0; load < LOADS; load++) loads.push(await measure(viewport));
  const median = (name) => loads.map((load) => load[name]).sort((a, b) => a - b)[LOADS / 2];
  process.stdout.write(
    `${viewport.width} px: first paint ${median('painted')} ms, first row ${median('row')} ms, ` +
      `shift ${Math.max(...loads.map(({ shift }) => shift)).toFixed(3)}, ` +
      `tasks over 50 ms in ${loads.filter(({ long }) => long.length > 0).length} of ${LOADS} loads: ` +
      `${loads.flatMap(({ long }) => long).join(', ') || 'none'}\n`,
  );
}
await browser.close();

/** Loads the page in a new profile, so that nothing is cached. */
async function measure(viewport) {
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  await page.addInitScript(() => {
    window.seen = { long: [], shift: 0 };
    const watch = (type, note) =>
      new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
    watch('longtask', ({ duration }) => window.seen.long.push(Math.round(duration)));
    watch('layout-shift', ({ value }) => (window.seen.shift += value));
    new MutationObserver((_, observer) => {
      if (!document.querySelector('[role=option]')) return;
      window.seen.row = Math.round(performance.now());
      observer.disconnect();
    }).observe(document, { childList: true, subtree: true });
  });
  // The browser has to finish the start of this profile first: it would take processor time from the page.
  await page.waitForTimeout(1000);
  if (option === 'own-core') separateCores();
  await page.goto(address);
  // A fixed time: to wait for a row, Playwright would run a script in the page, which takes 20 to 30 ms.
  await page.waitForTimeout(2000);
  const seen = await page.evaluate(() => ({
    ...window.seen,
    painted: Math.round(performance.getEntriesByName('first-contentful-paint')[0].startTime),
  }));
  await context.close();
  return seen;
}

/** Leaves the first core to the main threads of pages. This process and all other threads of Chromium get the other cores. */
function separateCores() {
  const run = (...args) => execFileSync('taskset', ['--cpu-list', '--pid', ...args], { stdio: 'ignore' });
  const others = `1-${cpus().length - 1}`;
  run('--all-tasks', others, process.pid);
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (!command.includes('chrom') || !/--type=|--headless/.test(command)) continue;
      run('--all-tasks', others, pid);
      if (command.includes('--type=renderer')) run('0', pid);
    } catch {
      // The process has ended meanwhile.
    }
  }
}
