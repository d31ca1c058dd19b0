/** The report of the bench as Markdown: tables of measurements, and goals that are met or missed. */
import { type Bench, type Contest, middle, ratio } from './rounds.js';

export type Goal = { readonly goal: string; readonly measured: string; readonly isMet: boolean };

type Findings = { readonly title: string; readonly text: string; readonly goals: readonly Goal[] };

export type Part = (bench: Bench) => Promise<Findings>;

/** A Markdown table. The columns after the first `textColumns` are numbers. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], textColumns: number) {
  const rule = head.map((_name, column) => (column < textColumns ? '---' : '---:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** A table of contests. Each line says by what factor the entry `against` is better than the entry of that line. */
export function contestTable(contests: readonly Contest[]): string {
  return table(
    ['', 'server', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'MB', 'upstream', '× by CPU', '× by req/s'],
    contests.flatMap(({ label, entries }) =>
      entries.map((entry, nth) => {
        const lead = entries.find(({ name }) => name === entry.against) ?? entries[0];
        const isLead = !lead || lead === entry;
        const asked = entry.samples.reduce((sum, sample) => sum + sample.upstreamRequests, 0);
        return [
          nth === 0 ? label : '',
          entry.name,
          shown(middle(entry, 'perSecond')),
          shown(middle(entry, 'p50'), 2),
          shown(middle(entry, 'p99'), 2),
          shown(middle(entry, 'cpuMicros')),
          shown(Math.max(...entry.samples.map(({ megabytes }) => megabytes)), 0),
          shown(asked, 0),
          isLead ? '' : shown(ratio(entry, lead, 'cpuMicros'), 2),
          isLead ? '' : shown(ratio(lead, entry, 'perSecond'), 2),
        ];
      }),
    ),
    2,
  );
}

/** The goal that the first entry, the gateway, takes at most this multiple of the CPU time of the second. */
export function cpuGoal(title: string, { label, entries: [gateway, other] }: Contest, most: number): Goal {
  const measured = gateway && other ? ratio(gateway, other, 'cpuMicros') : Number.NaN;
  const goal = `${title}, ${label}: at most ${most} of ${other?.name}`;
  return { goal, measured: shown(measured, 2), isMet: measured <= most };
}

/** A number with sensible digits; a dash for NaN. */
export function shown(value: number, digits?: number): string {
  if (!Number.isFinite(value)) return '–';
  const maximumFractionDigits = digits ?? (Math.abs(value) < 100 ? 1 : 0);
  return value.toLocaleString('en', { maximumFractionDigits, minimumFractionDigits: digits ?? 0 });
}
