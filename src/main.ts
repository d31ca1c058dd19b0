#!/usr/bin/env node
/** The entry point of the process: sets signal handlers, NODE_ENV and a V8 flag before it loads other modules. */
import { executionAsyncResource } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';

// Set before anything else: a SIGTERM or SIGINT during the start ends the process with status 0.
let stop: (signal: NodeJS.Signals) => void = () => process.exit(0);
process.on('SIGTERM', (signal) => stop(signal));
process.on('SIGINT', (signal) => stop(signal));
// SIGHUP does not stop the process. It is sent when a terminal closes, or by a supervisor to reload settings.
process.on('SIGHUP', () => {});

// Copied before NODE_ENV gets its default below: demo data is refused only if the operator has set `production`.
const env = { ...process.env };
// Without this, graphql-js repeats many checks that only help during development.
process.env.NODE_ENV ??= 'production';
// Collect garbage earlier than V8 does by default. Refreshes and long responses make much garbage. The flag saves a
// third of the memory and costs hardly any time.
setFlagsFromString('--heap-growing-percent=20');

// `process.nextTick` runs about ten times for each request. V8 optimises it for the hidden class of the objects that it
// queues. If no such object is alive at the first garbage collection, V8 drops that optimisation for good, and
// each request costs several percent more. `kept` keeps one such object alive.
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
  const { start } = await import('./start.js');
  stop = await start(env);
}
