/** Things that end after their test, or after all tests of a file or `describe`; files and directories among them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, onTestFinished } from 'vitest';

export type AtEnd = (end: () => Promise<void>) => void;

/** Call it outside of hooks. The functions that the result registers are called after the tests, the last one first. */
export function afterTests(): (end: () => unknown) => void {
  const ends: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return (end) => void ends.push(end);
}

/** Call it outside of hooks. The returned object gets the members of the started one before the tests run. */
export function share<Started extends object>(
  start: (atEnd: (end: () => unknown) => void) => Promise<Started>,
): Started {
  const shared = {} as Started;
  const atEnd = afterTests();
  beforeAll(async () => {
    Object.assign(shared, await start(atEnd));
  });
  return shared;
}

/** Repeats this work until the end of the test, or until the returned function is called. It waits for the last time. */
export function repeat(work: () => Promise<unknown>): () => Promise<void> {
  let isOver = false;
  const repeating = (async () => {
    while (!isOver) await work();
  })();
  const stop = () => {
    isOver = true;
    return repeating;
  };
  onTestFinished(stop);
  return stop;
}

/** A new directory. The end of the test removes it, or the end at which `atEnd` calls its functions. */
export function temporaryDirectory(atEnd: AtEnd = onTestFinished): string {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-'));
  atEnd(async () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

export function temporaryFile(text: string): string {
  const path = join(temporaryDirectory(), 'file.txt');
  writeFileSync(path, text);
  return path;
}

/** In place of vitest, until the end of the test. @returns a function that waits for late ones, and returns all so far */
export function collectUnhandledRejections(): () => Promise<readonly unknown[]> {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  const others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note);
  onTestFinished(() => {
    process.off('unhandledRejection', note);
    for (const other of others) process.on('unhandledRejection', other);
  });
  return async () => {
    await sleep(20);
    return unhandled;
  };
}
