import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { GatewayProcess } from './gateway-process.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Starts the built gateway on a free port with a limit on its file handles; the test's end ends it. */
export async function startWithFewFileHandles(
  fileHandles: number,
  env: Record<string, string> = {},
): Promise<GatewayProcess> {
  const child = spawn('sh', ['-c', `ulimit -n ${fileHandles}; exec "$0" "$@"`, process.execPath, MAIN], {
    env: { PATH: process.env.PATH ?? '', PORT: '0', ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', () => {
      const found = /"address":"(http:[^"]+)\/graphql"/.exec(output);
      if (found?.[1]) resolve(found[1]);
    });
    exited.then((code) => reject(new Error(`The gateway ended with status ${code}: ${output}`)));
  });
  return { address, child, output: () => output, exited };
}
