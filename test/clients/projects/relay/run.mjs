/** Runs the compiled app: transforms its files as a bundler would, and defines the globals of a browser. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformSync } from '@babel/core';
import { Window } from 'happy-dom';

const out = join(import.meta.dirname, 'out');
const plugins = ['relay', '@babel/plugin-transform-modules-commonjs'];
for (const name of readdirSync(out, { recursive: true }).filter((file) => file.endsWith('.js'))) {
  const filename = join(out, name);
  writeFileSync(filename, transformSync(readFileSync(filename, 'utf8'), { filename, plugins }).code);
}
const window = new Window();
const { document, navigator } = window;
for (const [name, value] of Object.entries({ window, document, navigator })) {
  Object.defineProperty(globalThis, name, { value });
}
await import('./out/app.js');
