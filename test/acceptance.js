/**
 * Checks claims about running the gateway. It prints a line for each, and ends with status 1 if one is false:
 * `node test/acceptance.js`, or `node test/acceptance.js Observed Library` for some of them. The first of the two measurements
 * needs the built checkout from before a change: `BENCH_AGAINST=<its folder> node test/acceptance.js Hits`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const tests = (...files) => ['npx', 'vitest', 'run', ...files];

/** Each claim, the command that shows it, and the part of its output that does. */
const RUNS = [
  {
    claim: 'Observed: metrics, admin port, log lines that never block, one trace',
    command: tests(
      'server/requests',
      'server/admin',
      'observability/metrics',
      'logger',
      'sleeping-reader',
      'tracing',
    ),
    finding: testCounts,
  },
  {
    claim: 'Started and stopped: demo data only on request, signals at any moment, --omit=dev',
    command: tests('demo', 'process', 'server/stop', 'production'),
    finding: testCounts,
  },
  {
    claim: 'Cores: several processes share one refresh',
    command: tests('storage/cores', 'storage/redis.test'),
    finding: testCounts,
  },
  {
    claim: 'Limits per client: rates, proxies, trusted documents',
    command: tests(
      'server/operation-limit',
      'server/forwarded-client',
      'plugins/trusted-documents',
      'pages/trusted-pages',
      'config/files',
    ),
    finding: testCounts,
  },
  {
    claim: 'Library: mounted in other servers, with the responses of the process',
    command: tests('library/'),
    finding: testCounts,
  },
  {
    claim: 'Deployed: image, alerts, dashboard, and no request lost behind nginx',
    command: ['npm', 'run', '-s', 'project', 'deploy'],
    finding: (output) => [testCounts(output), ...(output.match(/^\d+ requests in .*$/m) ?? [])].join('; '),
  },
  {
    claim:
      'Outages: 410 ends, responses take at most 30 s, clients cannot trigger a page, and stalled parts are reported',
    command: tests(
      'server/admin',
      'upstream/http/backoff',
      'snapshots/sources',
      'server/requests',
      'storage/disk',
      'deploy/nginx',
      'deploy/alerts',
    ),
    finding: testCounts,
  },
  {
    claim: 'Supply chain: few packages, each with a reason, listed by npm sbom',
    command: tests('production'),
    finding: testCounts,
  },
  {
    claim: 'Hits cost less than 5 % more CPU than before',
    command: ['npm', 'run', '-s', 'bench', '--', '1', 'against'],
    needs: 'BENCH_AGAINST',
    finding: costOfHits,
  },
  {
    claim: 'Starts are no slower: the first answer within 600 ms',
    command: ['npm', 'run', '-s', 'bench', '--', '1', 'starts'],
    finding: (output) => {
      const goal = rowsOf(output).find(([, goal = '']) => goal.startsWith('first answered'));
      if (goal?.[3] !== 'met') throw new Error(`Expected the goal to be met, got ${goal?.join(' ')}`);
      return goal[2];
    },
  },
];

/** How many tests passed, and were skipped, as vitest says it. */
function testCounts(output) {
  const [, counts] = /^\s*Tests\s+(.*?)\s*(?:\(\d+\))?$/m.exec(output) ?? [];
  if (!counts?.includes('passed')) throw new Error(`Expected tests that passed, got ${counts}`);
  return `${counts.replaceAll(' | ', ', ')} of the tests`;
}

/** The CPU time of a cached response here, as a share of that in the other checkout: the median of the workloads. */
function costOfHits(output) {
  let label = '';
  const ratios = rowsOf(output).flatMap((cells) => {
    label = cells[1] || label;
    return cells[2] === 'other' && !label.includes(', new ') ? [Number(cells[9])] : [];
  });
  const median = ratios.toSorted((a, b) => a - b)[Math.floor(ratios.length / 2)];
  if (!(median >= 1 / 1.05))
    throw new Error(`Expected at least 0.95 times as many for the same CPU time, got ${median}`);
  return `${median} times as many for the same CPU time (${ratios.join(', ')})`;
}

/** The cells of all tables. */
function rowsOf(output) {
  return output
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
}

async function show({ claim, command, needs, finding }) {
  if (needs && !process.env[needs]) return `skipped  ${claim}: set ${needs}`;
  const [program, ...args] = command;
  const began = performance.now();
  const child = spawn(program, args, {
    env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
    });
  }
  const [status] = await once(child, 'close');
  const seconds = Math.round((performance.now() - began) / 1000);
  try {
    if (status !== 0) throw new Error(`Expected status 0, got ${status}`);
    return `ok       ${claim}: ${finding(output)} (${seconds} s)`;
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${output}\n`);
    return `FAILED   ${claim}: ${error.message} (${seconds} s): ${command.join(' ')}`;
  }
}

const names = process.argv.slice(2);
const chosen = RUNS.filter(({ claim }) => names.length === 0 || names.some((name) => claim.startsWith(name)));
const stray = names.find((name) => !RUNS.some(({ claim }) => claim.startsWith(name)));
if (stray !== undefined) {
  process.stderr.write(`Expected the first word of a claim, such as Seen, got ${stray}\n`);
  process.exit(1);
}
for (const run of chosen) process.stdout.write(`${await show(run)}\n`);
