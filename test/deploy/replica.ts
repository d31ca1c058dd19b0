/** A gateway that rolling restarts and upgrades stop and start again. */
import { expect, onTestFinished } from 'vitest';
import { freePort } from '../support/free-port.js';
import { spawnGateway } from '../support/gateway-process.js';

/**
 * Starts a gateway that can be stopped and started again on the same port. The test's end kills it.
 *
 * @param firstMain the main file of the first process; that of this build unless given
 */
export async function createReplica(env: Readonly<Record<string, string>>, firstMain?: string) {
  const [port, adminPort] = [await freePort(), await freePort()];
  let gateway: ReturnType<typeof spawnGateway> | undefined;
  /** How many operations the earlier processes had answered when each was last asked, just before its end. */
  let answeredBefore = 0;
  const admin = `http://127.0.0.1:${adminPort}`;
  const answered = async () => {
    const text = await fetch(`${admin}/metrics`).then((response) => response.text());
    const counts = [
      ...text.matchAll(/^gateway_requests_total\{cache="(?:hit|miss)",outcome="ok"\} (\d+)$/gm),
    ];
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const replica = {
    port,
    /** Starts a process of the gateway, and resolves when it is ready. */
    async start(main?: string) {
      const ports = { PORT: String(port), ADMIN_PORT: String(adminPort) };
      gateway = spawnGateway({ ...env, ...ports, LOG_REQUESTS: 'errors' }, main);
      const isReady = () =>
        fetch(`${admin}/ready`).then(
          ({ ok }) => ok,
          () => false,
        );
      await expect.poll(isReady, { interval: 50 }).toBe(true);
    },
    /** Ends the process by this signal, and resolves with its exit status. */
    async end(signal: 'SIGTERM' | 'SIGKILL') {
      answeredBefore += await answered();
      gateway?.child.kill(signal);
      return gateway?.exited;
    },
    answered: async () => answeredBefore + (await answered()),
    output: () => gateway?.output(),
  };
  onTestFinished(async () => {
    gateway?.child.kill('SIGKILL');
    await gateway?.exited;
  });
  await replica.start(firstMain);
  return replica;
}
