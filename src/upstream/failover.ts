/** Failover from the v1 service to its successor. */
import type { Service } from '../domain/listing.js';
import { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger/logger.js';

export interface FailoverOptions {
  readonly v1: Service;
  readonly successor: Service;
  readonly log: Logger;
  /** Called at most once: when a request of this gateway causes the failover. `switchTo` does not call it. */
  readonly onChangeOver: () => void;
}

/**
 * Creates a service that uses v1 until v1 says that it is gone, and the successor from then on.
 *
 * The call that finds v1 gone is repeated at the successor. If the successor fails, the call fails with that error, and
 * the next call tries v1 first again.
 */
export function createFailoverService({ v1, successor, log, onChangeOver }: FailoverOptions): Service {
  let hasSwitched = false;

  async function withFailover<Answer>(
    ask: (service: Service) => Promise<Answer>,
    switches: boolean,
  ): Promise<Answer> {
    if (hasSwitched) return ask(successor);
    try {
      return await ask(v1);
    } catch (error) {
      const isGone = error instanceof UpstreamError && error.code === 'UPSTREAM_GONE';
      // If another call has switched meanwhile, every failed call is repeated at the successor, not only a "gone" one.
      if (!isGone && !hasSwitched) throw error;
      const answer = await ask(successor);
      if (isGone && switches && !hasSwitched) switchToSuccessor(error);
      return answer;
    }
  }

  function switchToSuccessor({ code, detail }: UpstreamError): void {
    hasSwitched = true;
    log.warn(
      { code, detail },
      'The v1 service says that it is gone, and its successor has answered: the listings are from the value-transfer service from now on. When it suits you, set UPSTREAM_PROFILE=value-transfer, and UPSTREAM_URL to the address of the successor',
    );
    onChangeOver();
  }

  return {
    get source() {
      return hasSwitched ? successor.source : v1.source;
    },
    delay: () => (hasSwitched ? successor : v1).delay?.(),
    fetch: (name) => withFailover((service) => service.fetch(name), true),
    // "Gone" in answer to a request for routes does not cause a switch: the rest of the service may still work.
    routes: (request, clients) => withFailover((service) => service.routes(request, clients), false),
    switchTo(source) {
      if (source !== successor.source || hasSwitched) return;
      hasSwitched = true;
      log.info(
        'The listings are from the value-transfer service already, as an earlier start or another gateway has found: v1 gets no more requests. When it suits you, set UPSTREAM_PROFILE=value-transfer, and UPSTREAM_URL to the address of the successor',
      );
    },
  };
}
