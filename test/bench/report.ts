import { type Contest, cpuRatio, type Entry, middle, rateRatio } from './rounds.js';
import type { Target } from './targets.js';

/** A claim, and its measurement. */
export interface Goal {
  readonly goal: string;
  readonly measured: string;
  readonly isMet: boolean;
}

/** The results of one part of the bench, as Markdown. */
export interface Findings {
  readonly title: string;
  readonly text: string;
  readonly goals: readonly Goal[];
}

/** Measures one thing, and ends the processes that it has started. `seconds` is the length of one run. */
export type Part = (bench: { readonly upstream: Target; readonly seconds: number }) => Promise<Findings>;

/** A Markdown table with aligned columns. All columns except the first ones are numbers. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns: number,
): string {
  const widths = head.map((name, column) =>
    Math.max(name.length, 3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, i) => (i < textColumns ? (cells[i] ?? '').padEnd(width) : (cells[i] ?? '').padStart(width))).join(' | ')} |`;
  const rule = widths.map((width, i) => (i < textColumns ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

/** A table of contests. The line of each entry says how many times as good the entry is with which it is compared. */
export function contestTable(contests: readonly Contest[]): string {
  return table(
    ['', 'server', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'MB', 'upstream', '× by CPU', '× by req/s'],
    contests.flatMap(({ label, entries }) =>
      entries.map((entry, nth) => [
        nth === 0 ? label : '',
        entry.name,
        ...cells(entry),
        ...ratios(entries, nth),
      ]),
    ),
    2,
  );
}

function cells(entry: Entry): string[] {
  const { samples } = entry;
  return [
    shown(middle(entry, 'perSecond')),
    shown(middle(entry, 'p50'), 2),
    shown(middle(entry, 'p99'), 2),
    shown(middle(entry, 'cpuMicros')),
    shown(Math.max(...samples.map(({ megabytes }) => megabytes)), 0),
    shown(
      samples.reduce((sum, { upstreamRequests }) => sum + upstreamRequests, 0),
      0,
    ),
  ];
}

function ratios(entries: readonly Entry[], nth: number): string[] {
  const entry = entries[nth];
  const lead = leadOf(entries, entry);
  if (!entry || !lead || lead === entry) return ['', ''];
  return [shown(cpuRatio(lead, entry), 2), shown(rateRatio(lead, entry), 2)];
}

/** The entry with which another one is compared. */
function leadOf(entries: readonly Entry[], entry: Entry | undefined): Entry | undefined {
  return entry?.against === undefined ? entries[0] : entries.find(({ name }) => name === entry.against);
}

/** The highest allowed CPU time of the gateway, as a multiple of another server's. */
export interface MostCpu {
  readonly server: string;
  readonly times: number;
}

/** The goals of contests whose first entry is the gateway, by their labels. */
export function cpuGoals(
  title: string,
  contests: readonly Contest[],
  most: Readonly<Record<string, MostCpu>>,
): readonly Goal[] {
  return contests.flatMap(({ label, entries: [gateway, ...others] }) => {
    const { server, times } = most[label] ?? { times: 0 };
    const other = others.find(({ name }) => name === server);
    if (!gateway || !other) return [];
    const ratio = cpuRatio(other, gateway);
    const goal = `${title}, ${label}: at most ${times} of the CPU of ${server}`;
    return [{ goal, measured: shown(ratio, 2), isMet: ratio <= times }];
  });
}

/** A number with sensible digits; a dash for NaN. */
export function shown(value: number, digits?: number): string {
  if (!Number.isFinite(value)) return '–';
  const { maximumFractionDigits } = { maximumFractionDigits: digits ?? (Math.abs(value) < 100 ? 1 : 0) };
  return value.toLocaleString('en', { maximumFractionDigits, minimumFractionDigits: digits ?? 0 });
}
