/** Runs the process: starts it with its settings, and stops it after a signal. */
import closeWithGrace from 'close-with-grace';
import { assemble } from './assemble.js';
import { type Config, nameWarnings, readConfig, secretsOf, servesDemo } from './config/config.js';
import { DEMO_LABEL } from './demo/listings.js';
import { REQUEST_IDS } from './http/headers.js';
import { GRAPHQL_PATH } from './http/paths.js';
import { createLogger, openLogDestination } from './logger/logger.js';
import { createMetrics } from './observability/metrics.js';
import { createRefreshAnswer } from './observability/monitoring.js';
import { REVISION, VERSION } from './observability/version.js';
import { createAdminServer, createGatewayServer } from './server/server.js';

/** Requests to the upstream are aborted this long after the port has closed: then responses end before the next limit. */
const GIVE_UP_UPSTREAM_AFTER_MS = 6_000;
/** All open connections are closed this long after the port. */
const CUT_OFF_AFTER_MS = 7_000;
/**
 * The process ends this long after the port has closed, even if something still hangs; after SIGINT, which closes the port
 * at once, `DRAIN_MS` later.
 */
const STOP_WITHIN_MS = 8_500;
/** A second SIGINT within this time is ignored: for one Ctrl-C, the terminal and npm each send one. */
const SAME_SIGNAL_MS = 1_000;
/** The wait for a slow reader of the log. Must be below `STOP_WITHIN_MS` minus `CUT_OFF_AFTER_MS`. */
const FLUSH_LOG_WITHIN_MS = 500;
/** File handles reserved for snapshots, logs, Redis, modules that are loaded late, and Node itself. */
const OWN_FILE_HANDLES = 48;
/** In a container. A connection takes 13 kB, and three times as much with an unfinished head of 16 KiB. */
const BYTES_FOR_CONNECTION = 262_144;

/** @returns what SIGTERM and SIGINT do from then on */
async function run(config: Config) {
  const isTerminal = process.stdout.isTTY === true;
  const metrics = createMetrics();
  const destination = isTerminal ? undefined : openLogDestination(1, metrics.logLineDropped);
  if (destination) process.once('exit', destination.flushNow);
  const log = await createLogger({
    level: config.logLevel,
    readable: isTerminal,
    destination,
    secrets: secretsOf(config),
  });
  for (const { name, message } of nameWarnings(process.env)) log.warn({ name }, message);
  const inMemory = Math.floor(process.constrainedMemory() / BYTES_FOR_CONNECTION) || Number.POSITIVE_INFINITY;
  const wanted = Math.min(inMemory, config.maxConnections);
  const forConnections = Math.max(1, fileHandles() - OWN_FILE_HANDLES);
  const isShort = forConnections < wanted;
  const maxConnections = isShort ? forConnections : wanted;
  if (isShort) log.warn({ maxConnections }, 'The limit on open files (ulimit -n) also limits connections');
  else if (maxConnections < config.maxConnections)
    log.info({ maxConnections }, 'The memory of the container also limits connections');
  const isDemo = servesDemo(config);
  const parts = await assemble({ config, metrics, log });
  const server = createGatewayServer({ ...config, ...parts, maxConnections, metrics, log });
  const refresh = createRefreshAnswer(parts.refreshOnRequest, log);
  const admin = createAdminServer(parts.monitoring, refresh, log);
  parts.start();
  // Loads GraphQL Yoga before the port opens: loading opens hundreds of files at once, and connections can
  // use up the file handles.
  if (isShort) await parts.gateway.load();
  const address = await server.listen(config.host, config.port);
  // The admin port opens after the public port: a gateway whose `/ready` answers 200 must accept connections.
  const adminAddress =
    config.adminPort === undefined ? undefined : await admin.listen(config.host, config.adminPort);
  let signal: NodeJS.Signals | undefined;
  let stoppingSince: number | undefined;
  const { close: stop } = closeWithGrace(
    {
      delay: config.drainMs + STOP_WITHIN_MS,
      // Without this, close-with-grace ends the process with status 1 at the second of these signals.
      skip: ['SIGTERM', 'SIGINT', 'SIGHUP'],
      logger: { error: (err) => log.error({ err }, 'Stopping') },
    },
    async (reason) => {
      if (reason.err) log.fatal({ err: reason.err }, 'Stopping because of an unexpected error');
      else log.info({ signal: signal ?? reason.signal }, 'Stopping: open requests are still answered');
      stoppingSince = performance.now();
      parts.stop();
      // SIGINT usually comes from a terminal (Ctrl-C), where no load balancer needs time to notice the stop.
      const drainMs = signal === 'SIGINT' ? 0 : config.drainMs;
      const givingUp = setTimeout(parts.giveUp, drainMs + GIVE_UP_UPSTREAM_AFTER_MS);
      await server.drain(drainMs, drainMs + CUT_OFF_AFTER_MS);
      clearTimeout(givingUp);
      // The port for operators closes last, so that probes can read until then that the gateway is stopping.
      if (adminAddress) await admin.drain(0, 0);
      await parts.close();
      log.info('Stopped');
      await destination?.flush(FLUSH_LOG_WITHIN_MS);
    },
  );
  const successor = config.upstreamProfile === 'auto' ? `, then ${config.upstreamSuccessorUrl}` : '';
  const upstream = isDemo ? 'the embedded demo listing' : `${config.upstreamUrl}${successor}`;
  if (isDemo && !isTerminal) log.warn({ source: 'demo' }, DEMO_WARNING);
  const base = address + config.basePath;
  if (isTerminal) process.stdout.write(screen(base, upstream, isDemo, config.graphiql));
  else {
    const own = { requestIds: REQUEST_IDS, version: VERSION, revision: REVISION };
    log.info({ address: base + GRAPHQL_PATH, upstream, isDemo, adminAddress, ...own }, 'Listening');
  }
  // A supervisor may send a signal as soon as it reads "Listening": nothing is awaited between that line and here.
  return (received: NodeJS.Signals) => {
    if (stoppingSince === undefined) {
      signal = received;
      stop();
    } else if (received === 'SIGINT' && performance.now() - stoppingSince > SAME_SIGNAL_MS) {
      // A second Ctrl-C ends the process without waiting.
      process.exit(130);
    }
  };
}

const DEMO_WARNING = `${DEMO_LABEL}, because UPSTREAM_URL is not set. Set it, and DEMO=false wherever real money moves`;
const DEMO_NOTE = `. ${DEMO_LABEL}.
            To use a real API, restart with UPSTREAM_URL=https://example.org/v1`;

function screen(address: string, upstream: string | undefined, isDemo: boolean, graphiql: boolean): string {
  return `
  Chains and tokens gateway

  Open      ${address}  (a token picker)
  Graph     ${address}${GRAPHQL_PATH}${graphiql ? '  (in a browser a playground, with queries to try)' : ''}
  Upstream  ${upstream}${isDemo ? DEMO_NOTE : ''}
  Try       curl -s ${address}${GRAPHQL_PATH} -H 'content-type: application/json' \\
              -d '{"query":"{ token(chainKey: \\"ethereum\\", address: \\"0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48\\") { symbol decimals price { usd asOf } chain { name } } }"}'
  Stop      Ctrl-C

`;
}

/** The limit on open files; NaN if none is known. */
function fileHandles(): number {
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  return Number(report.userLimits?.open_files?.soft);
}

/** Ends a process that could not start. Writes a line of the log without the secrets, or plain lines on a terminal. */
async function endWith(
  message: string,
  details: readonly string[] | undefined,
  secrets: readonly string[] = [],
): Promise<never> {
  const destination = { write: (line: string) => void process.stderr.write(line) };
  if (process.stdout.isTTY) destination.write(`${[message, ...(details ?? [])].join('\n  ')}\n`);
  else {
    const log = await createLogger({ level: 'fatal', readable: false, secrets, destination });
    log.fatal({ details }, message);
  }
  process.exit(1);
}

/** How the operator can correct an error of the start. Undefined for an unexpected error. */
function adviceOn(error: unknown, { host, port, adminPort, snapshotDir }: Config): string | undefined {
  const { code, port: failed = port } = error as NodeJS.ErrnoException & { readonly port?: number };
  const name = failed === adminPort ? 'ADMIN_PORT' : 'PORT';
  if (code === 'EADDRINUSE')
    return `Port ${failed} on ${host} is taken. Set ${name} to another port; ${name}=0 takes a free one.`;
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return `Cannot listen on ${host}, port ${failed} (${code}). Set HOST to an address of this machine, and ${name} to a port that this process may open.`;
  if (snapshotDir !== undefined && (code === 'EEXIST' || code === 'ENOTDIR'))
    return `SNAPSHOT_DIR: expected a directory, got ${snapshotDir}, which is not one. Set it to another path.`;
  return undefined;
}

/** Starts the gateway with the settings in an environment. Invalid settings end the process with status 1. */
export async function start(env: NodeJS.ProcessEnv) {
  const settings = readConfig(env);
  if ('errors' in settings) {
    const details = [...settings.errors, ...nameWarnings(env).map(({ message }) => message)];
    return endWith('The gateway did not start. Correct these settings:', details);
  }
  const { config } = settings;
  return run(config).catch((error: unknown) => {
    const advice = adviceOn(error, config);
    const details = advice ? undefined : [String(error instanceof Error ? error.stack : error)];
    return endWith(advice ?? 'The gateway could not start.', details, secretsOf(config));
  });
}
