import closeWithGrace from 'close-with-grace';
import { type Config, readConfig } from './config.js';
import { startDemoUpstream } from './demo/upstream.js';
import { createGateway } from './gateway.js';
import { createDependencyCheck } from './graph/dependencies.js';
import { GRAPHQL_PATH } from './http/paths.js';
import { openLogDestination } from './logger/destination.js';
import { createLogger } from './logger.js';
import { createMetrics } from './metrics.js';
import { createMonitoring } from './observability/monitoring.js';
import { notReadyReason } from './observability/readiness.js';
import { openSnapshots } from './open-snapshots.js';
import { createAdminServer } from './server/admin-server.js';
import { createGatewayServer } from './server/server.js';
import { VERSION } from './version.js';

/** The longest time from the signal to the exit. */
const STOP_WITHIN_MS = 10_000;
/** How long `/ready` reports the stop before the port closes, so that load balancers send no more requests. */
const LAME_DUCK_MS = 1_500;
/** When requests that still wait for the upstream get an error. */
const GIVE_UP_UPSTREAM_AFTER_MS = 7_500;
/** When connections are destroyed whose clients neither send nor read. */
const CUT_OFF_AFTER_MS = 8_500;

/** How long a slow reader of the log may take for the last lines. Together with the cut-off less than 10 s. */
const FLUSH_LOG_WITHIN_MS = 500;

/** When the parts are loaded that the first answers do without. */
const LOAD_AFTER_MS = 1_000;

/** File handles reserved for snapshots, logs, Redis, modules that are loaded late, and Node itself. */
const OWN_FILE_HANDLES = 48;

async function run(config: Config): Promise<void> {
  const isTerminal = process.stdout.isTTY === true;
  const metrics = createMetrics(VERSION);
  const destination = isTerminal ? undefined : openLogDestination(1, { onDrop: metrics.logLineDropped });
  if (destination) process.once('exit', destination.flushNow);
  const log = await createLogger({
    level: config.logLevel,
    readable: isTerminal,
    ...(destination ? { destination } : {}),
    secrets: [
      ...Object.values(config.upstreamHeaders),
      ...passwordsOf(config.redisUrl),
      ...(config.redisSecret === undefined ? [] : [config.redisSecret]),
    ],
  });
  const forConnections = Math.max(1, fileHandles() - OWN_FILE_HANDLES);
  const isShort = forConnections < config.maxConnections;
  const maxConnections = isShort ? forConnections : config.maxConnections;
  if (isShort) log.warn({ maxConnections }, 'The limit on open files (ulimit -n) is below MAX_CONNECTIONS');
  const demo = config.upstreamUrl === undefined ? await startDemoUpstream() : undefined;
  const { snapshots, giveUp, close } = await openSnapshots({
    ...config,
    addresses: {
      profile: config.upstreamProfile,
      url: config.upstreamUrl ?? demo?.url ?? '',
      successorUrl: config.upstreamSuccessorUrl,
      isDemo: demo !== undefined,
    },
    metrics,
    log,
  });
  metrics.watchListings(() => snapshots.status(Date.now()));
  let stopping = false;
  const gateway = createGateway({
    ...config,
    snapshots,
    metrics,
    log,
    isDemo: demo !== undefined,
    isStopping: () => stopping,
  });
  const server = createGatewayServer({
    ...config,
    gateway,
    checkDependencies: createDependencyCheck(snapshots),
    maxConnections,
    metrics,
    log,
  });

  const { adminPort } = config;
  const notReady = () => notReadyReason(snapshots, stopping);
  const admin = createAdminServer(createMonitoring({ notReadyReason: notReady, metrics, log }), log);

  snapshots.start();
  const adminAddress = adminPort === undefined ? undefined : await admin.listen(config.host, adminPort);
  const address = await server.listen(config.host, config.port);
  // Before the log says "Listening": a supervisor may send a signal as soon as it reads that.
  closeWithGrace(
    { delay: STOP_WITHIN_MS, logger: { error: (err) => log.error({ err }, 'Stopping') } },
    async (reason) => {
      if (reason.err) log.fatal({ err: reason.err }, 'Stopping because of an unexpected error');
      else log.info({ signal: reason.signal }, 'Stopping: open requests are still answered');
      stopping = true;
      snapshots.stop();
      const givingUp = setTimeout(giveUp, GIVE_UP_UPSTREAM_AFTER_MS);
      // Ctrl-C comes from a terminal, where no load balancer needs notice.
      await server.drain(reason.signal === 'SIGINT' ? 0 : LAME_DUCK_MS, CUT_OFF_AFTER_MS);
      clearTimeout(givingUp);
      // Probes read until now that the gateway is stopping.
      await admin.close();
      await close();
      await demo?.close();
      log.info('Stopped');
      await destination?.flush(FLUSH_LOG_WITHIN_MS);
    },
  );

  // Not before: it would delay the first answers, which need the snapshots alone.
  setTimeout(
    () => gateway.load().catch((err) => log.error({ err }, 'GraphQL Yoga could not be loaded')),
    LOAD_AFTER_MS,
  ).unref();

  const successor = config.upstreamProfile === 'auto' ? `, then ${config.upstreamSuccessorUrl}` : '';
  const upstream = demo ? 'the embedded demo listing' : `${config.upstreamUrl}${successor}`;
  if (isTerminal) process.stdout.write(screen(address, upstream, demo !== undefined, config.graphiql));
  else {
    const facts = {
      address: `${address}${GRAPHQL_PATH}`,
      upstream,
      isDemo: demo !== undefined,
      adminAddress,
    };
    log.info(facts, 'Listening');
  }
}

const DEMO_NOTE = `: DEMO DATA, prices are made up
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

/** The limit on open files; NaN if the system does not report it. */
function fileHandles(): number {
  const report = process.report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  return Number(report.userLimits?.open_files?.soft);
}

/** The secrets in a Redis URL, which must not be logged. */
function passwordsOf(url: string | undefined): readonly string[] {
  if (url === undefined) return [];
  const { password, searchParams } = new URL(url);
  return [password, decodeURIComponent(password), ...searchParams.values()];
}

/** Ends the process before it has started, with a message for a person. */
function endWith(lines: readonly string[]): never {
  process.stderr.write(`${lines.join('\n')}\n`);
  process.exit(1);
}

function explain(error: unknown, { host, port, adminPort, snapshotDir }: Config): readonly string[] {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    if (adminPort !== undefined) {
      return [`Port ${port} or ${adminPort} on ${host} is taken. Set PORT or ADMIN_PORT to another one.`];
    }
    return [`Port ${port} on ${host} is taken. Set PORT to another one; PORT=0 takes a free one.`];
  }
  if (code === 'EACCES' || code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return [
      `Cannot listen on ${host}, port ${port} (${code}). Set HOST and PORT to an address of this machine.`,
    ];
  }
  if (code === 'EEXIST' || code === 'ENOTDIR') {
    return [`SNAPSHOT_DIR: expected a directory, got ${snapshotDir}, which is none. Set it to another path.`];
  }
  return ['The gateway could not start.', String(error instanceof Error ? error.stack : error)];
}

const settings = readConfig(process.env);
if ('errors' in settings) {
  endWith([
    'The gateway did not start. Correct these settings:',
    ...settings.errors.map((error) => `  ${error}`),
  ]);
}
const { config } = settings;
run(config).catch((error: unknown) => endWith(explain(error, config)));
