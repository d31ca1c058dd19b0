/** CPU time and memory of another process on Linux. NaN or false on other systems, and if the process has ended. */
import { readFileSync } from 'node:fs';

/** CPU time of the main thread since the start, in milliseconds. The main thread handles all requests. */
export function mainThreadMs(pid: number | undefined): number {
  return Number(procFile(pid, 'schedstat').split(' ')[0] || Number.NaN) / 1e6;
}

export function isIdle(pid: number | undefined): boolean {
  return /^\d+ \(.*\) S/.test(procFile(pid, 'stat'));
}

/** User and system time of all threads in microseconds. Linux counts them in hundredths of a second. */
export function cpuMicrosOf(pid: number | undefined): number {
  const fields = procFile(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11] ?? Number.NaN) + Number(fields[12] ?? Number.NaN)) * 10_000;
}

export function megabytesOf(pid: number | undefined): { readonly now: number; readonly most: number } {
  const status = procFile(pid, 'status');
  const read = (name: string) =>
    (Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? Number.NaN) * 1024) / 1e6;
  return { now: read('VmRSS'), most: read('VmHWM') };
}

function procFile(pid: number | undefined, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
