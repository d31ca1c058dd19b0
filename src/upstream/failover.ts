import type { Listing } from '../domain/listing.js';
import { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger.js';

export interface FailoverOptions {
  readonly v1: Listing;
  readonly successor: Listing;
  readonly log: Logger;
  /** Called at most once, when a request of this gateway has caused the failover; not by `switchTo`. */
  readonly onChangeOver: () => void;
}

/**
 * Uses the v1 service until it says that it is gone, and its successor from then on, for good.
 *
 * The call that finds v1 gone is answered by the successor. If the successor fails, the call fails with its error, and
 * the next call tries v1 first again.
 */
export function createFailoverListing({ v1, successor, log, onChangeOver }: FailoverOptions): Listing {
  let hasSwitched = false;

  async function withFailover<Answer>(
    fetch: (listing: Listing) => Promise<Answer>,
    onSuccess: (gone: UpstreamError) => void,
  ): Promise<Answer> {
    if (hasSwitched) return fetch(successor);
    try {
      return await fetch(v1);
    } catch (error) {
      if (isGone(error)) {
        const answer = await fetch(successor);
        onSuccess(error);
        return answer;
      }
      // Another call may have switched meanwhile.
      if (hasSwitched) return fetch(successor);
      throw error;
    }
  }

  function changeOver({ code, detail }: UpstreamError): void {
    if (hasSwitched) return;
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
    chains: () => withFailover((listing) => listing.chains(), changeOver),
    tokens: (filter, clients) =>
      // One request for routes that is gone says nothing about the service.
      withFailover(
        (listing) => listing.tokens(filter, clients),
        filter.srcToken === undefined ? changeOver : () => {},
      ),
    switchTo(source) {
      if (source !== successor.source || hasSwitched) return;
      hasSwitched = true;
      log.info(
        'The listings are from the value-transfer service already, as an earlier start or another gateway has found: v1 gets no more requests. When it suits you, set UPSTREAM_PROFILE=value-transfer, and UPSTREAM_URL to the address of the successor',
      );
    },
  };
}

function isGone(error: unknown): error is UpstreamError {
  return error instanceof UpstreamError && error.code === 'UPSTREAM_GONE';
}
