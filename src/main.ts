#!/usr/bin/env node
/** The entry point: sets what must be set before any other module is loaded. */
import { executionAsyncResource } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';

// Before anything else: a signal during the start ends the process with status 0, too.
let stop: (signal: NodeJS.Signals) => void = () => process.exit(0);
process.on('SIGTERM', (signal) => stop(signal));
process.on('SIGINT', (signal) => stop(signal));
// SIGHUP does not stop the process: it means a closed terminal, or a supervisor that asks to reload settings.
process.on('SIGHUP', () => {});

// The settings get NODE_ENV as it was given: if it is unset, this can be a developer's machine.
const env = { ...process.env };
// Without this, graphql-js repeats many checks that only help during development.
process.env.NODE_ENV ??= 'production';
// Collect garbage earlier than V8 does by default. Refreshes and long responses make much garbage. The flag saves a
// third of the memory and costs hardly any time.
setFlagsFromString('--heap-growing-percent=20');

// V8 optimises `process.nextTick`, which runs about ten times for each request, for the hidden class of the objects
// that it queues. If the first collection of garbage finds none of them, V8 forgets that class and never optimises it
// again: each request would cost several percent more.
const kept: object[] = [];
process.nextTick(() => kept.push(executionAsyncResource()));

const options = process.argv.slice(2);
if (process.versions.bun || process.versions.deno) {
  process.stderr.write('The process needs Node. In Bun and Deno use the library: openGateway.\n');
  process.exitCode = 1;
} else if (options.length > 0) {
  const { replyTo } = await import('./command-line.js');
  const { text, isError } = replyTo(options);
  (isError ? process.stderr : process.stdout).write(text);
  process.exitCode = isError ? 1 : 0;
} else {
  // `#start` is the bundle; `npm run dev` uses the files that tsc compiles.
  const { start } = await import('#start');
  start(env, (gracefulStop) => {
    stop = gracefulStop;
  });
}
