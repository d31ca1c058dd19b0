/** Composes supergraphs by the recipes of the README, and starts routers over two subgraphs. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AtEnd } from '../../support/ends.js';
import { post, startGatewayProcess } from '../../support/gateway-process.js';
import { startAround } from '../../support/open-gateway.js';
import { freePort } from '../../support/processes.js';
import { isMissing, startServerProcess } from '../../support/server-process.js';
import { startStatsSubgraph } from './stats-subgraph.js';

const HOME = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = `${HOME}routers/`;
const ARE_INSTALLED = existsSync(`${PACKAGES}node_modules`);
const INSTALL = 'npm ci --ignore-scripts --prefix test/federation/routers';

export const areRoutersMissing = isMissing(ARE_INSTALLED, `composers and routers (${INSTALL})`);

export interface Subgraphs {
  readonly address: string;
  readonly output: () => string;
  readonly gateway: CountingProxy;
  readonly stats: { readonly url: string };
}

export async function startSubgraphs(atEnd: AtEnd, env: Record<string, string> = {}): Promise<Subgraphs> {
  if (!ARE_INSTALLED) throw new Error(`Nothing may be skipped in CI: ${INSTALL}`);
  const settled = { CHAINS_FRESH_MS: '3600000', TOKENS_FRESH_MS: '3600000' };
  const { address, output } = await startGatewayProcess({ ...settled, ...env }, atEnd);
  const gateway = await startCountingProxy(address, atEnd);
  const stats = await startStatsSubgraph(atEnd);
  return { address, output, gateway, stats };
}

/** A recipe of the README, with the addresses of these subgraphs in place of those in the text. */
export function recipe(name: string, { gateway, stats }: Subgraphs, port = 4002): string {
  const ports = new Map([
    ['4000', new URL(gateway.url).port],
    ['4001', new URL(stats.url).port],
    ['4002', String(port)],
  ]);
  const text = readFileSync(`${HOME}recipes/${name}`, 'utf8');
  return text.replace(/\b400[012]\b/g, (written) => ports.get(written) ?? written);
}

export async function runScript(name: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [`${PACKAGES}${name}`, ...args]);
  return stdout;
}

export async function composeByMesh(subgraphs: Subgraphs): Promise<string> {
  // Inside the folder of the packages, so that the recipe can import them.
  const folder = mkdtempSync(`${PACKAGES}node_modules/.mesh-`);
  try {
    writeFileSync(`${folder}/mesh.config.js`, recipe('mesh.config.js', subgraphs));
    const program = `${PACKAGES}node_modules/.bin/mesh-compose`;
    await promisify(execFile)(program, ['--output', 'supergraph.graphql'], { cwd: folder });
    return readFileSync(`${folder}/supergraph.graphql`, 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export async function startRouter(
  router: 'apollo-gateway' | 'hive-gateway' | 'stitching',
  subgraphs: Subgraphs,
  atEnd: AtEnd,
): Promise<string> {
  const port = await freePort();
  const args =
    router === 'apollo-gateway'
      ? ['apollo-gateway.js', recipe('apollo-router.yaml', subgraphs), String(port)]
      : ['--input-type=module', '--eval', recipe(`${router}.js`, subgraphs, port)];
  return startServing(router, port, args, atEnd);
}

export async function startSubgraphRecipe(name: string, atEnd: AtEnd): Promise<{ url: string }> {
  const port = await freePort();
  const script = readFileSync(`${HOME}recipes/${name}`, 'utf8').replace('4001', String(port));
  const address = await startServing(name, port, ['--input-type=module', '--eval', script], atEnd);
  return { url: `${address}/graphql` };
}

async function startServing(name: string, port: number, args: readonly string[], atEnd: AtEnd) {
  const env = { PATH: process.env.PATH ?? '', NODE_ENV: 'production' };
  const address = `http://127.0.0.1:${port}`;
  const server = { name, command: [process.execPath, ...args], cwd: PACKAGES, env };
  await startServerProcess({ ...server, isAnswering: () => isAnswering(address) }, atEnd);
  return address;
}

async function isAnswering(address: string): Promise<boolean> {
  return (await (await post(address, { query: '{ __typename }' })).text()).includes('"Query"');
}

type CountingProxy = Awaited<ReturnType<typeof startCountingProxy>>;

export interface PassedRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** A proxy in front of a subgraph. It records the POST requests to the subgraph. */
async function startCountingProxy(target: string, atEnd: AtEnd) {
  let passed: PassedRequest[] = [];
  const url = await startAround(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    if (request.method === 'POST') passed.push(JSON.parse(body) as PassedRequest);
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method ?? 'GET',
      headers: {
        'content-type': 'application/json',
        accept: request.headers.accept ?? '*/*',
        'x-forwarded-for': String(request.headers['x-forwarded-for'] ?? ''),
      },
      ...(request.method === 'POST' && { body }),
    });
    response.writeHead(answer.status, {
      'content-type': answer.headers.get('content-type') ?? 'application/json',
    });
    response.end(Buffer.from(await answer.arrayBuffer()));
  }, atEnd);
  return {
    url,
    passed() {
      const since = passed;
      passed = [];
      return since;
    },
  };
}
