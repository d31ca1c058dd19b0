/** Failover from the v1 service to its successor. */
import type { Service } from '../domain/listing.js';
import { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger/logger.js';

const ADVICE =
  'When it suits you, set UPSTREAM_PROFILE=value-transfer, and UPSTREAM_URL to the address of the successor';

/**
 * Creates a service that uses v1 until v1 says that it is gone, and the successor from then on.
 *
 * The call that finds v1 gone is repeated at the successor. If the successor fails, the call fails with that error, and
 * the next call tries v1 first again.
 *
 * @param onChangeOver called at most once, when a request causes the failover; not called by `switchTo`
 */
export function createFailoverService(
  v1: Service,
  successor: Service,
  log: Logger,
  onChangeOver: () => void,
): Service {
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
      if (isGone && switches && !hasSwitched) {
        hasSwitched = true;
        log.warn(
          { code: error.code, detail: error.detail },
          `The v1 service says that it is gone, and its successor has answered: the listings are from the value-transfer service from now on. ${ADVICE}`,
        );
        onChangeOver();
      }
      return answer;
    }
  }

  return {
    get source() {
      return (hasSwitched ? successor : v1).source;
    },
    delay: () => (hasSwitched ? successor : v1).delay?.(),
    fetch: (name) => withFailover((service) => service.fetch(name), true),
    // "Gone" in answer to a request for routes does not cause a switch: the rest of the service may still work.
    routes: (request, clients) => withFailover((service) => service.routes(request, clients), false),
    switchTo(source) {
      if (source !== successor.source || hasSwitched) return;
      hasSwitched = true;
      log.info(
        `The listings are from the value-transfer service already, as an earlier start or another gateway has found: v1 gets no more requests. ${ADVICE}`,
      );
    },
  };
}
