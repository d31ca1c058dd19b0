import type { Listing } from '../domain/listing.js';
import { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger.js';

/** What {@link createFailoverListing} takes. */
export interface FailoverOptions {
  readonly v1: Listing;
  readonly successor: Listing;
  readonly log: Logger;
  /** Called once, when a change-over was found out here: others may want to be told. */
  readonly onChangeOver: () => void;
}

/**
 * The v1 service until it says that it is gone, and its successor from then on, for good.
 *
 * Whoever asks at the change-over gets the successor's answer within the same call. It counts only when that
 * answer has come: until then v1 is asked first again, and what the successor fails with is thrown.
 */
export function createFailoverListing({ v1, successor, log, onChangeOver }: FailoverOptions): Listing {
  let hasChangedOver = false;

  async function ask<Answer>(
    question: (listing: Listing) => Promise<Answer>,
    onAnswer: (gone: UpstreamError) => void,
  ): Promise<Answer> {
    if (hasChangedOver) return question(successor);
    try {
      return await question(v1);
    } catch (error) {
      if (isGone(error)) {
        const answer = await question(successor);
        onAnswer(error);
        return answer;
      }
      // Another question may have found out meanwhile.
      if (hasChangedOver) return question(successor);
      throw error;
    }
  }

  function changeOver({ code, detail }: UpstreamError): void {
    if (hasChangedOver) return;
    hasChangedOver = true;
    log.warn(
      { code, detail },
      'The v1 service says that it is gone, and its successor has answered: the listings are from the value-transfer service from now on. When it suits you, set UPSTREAM_PROFILE=value-transfer, and UPSTREAM_URL to the address of the successor',
    );
    onChangeOver();
  }

  return {
    get source() {
      return hasChangedOver ? successor.source : v1.source;
    },
    delay: () => (hasChangedOver ? successor : v1).delay?.(),
    chains: () => ask((listing) => listing.chains(), changeOver),
    tokens: (filter, clients) =>
      // That one question is refused for good says nothing of the listings.
      ask(
        (listing) => listing.tokens(filter, clients),
        filter.srcToken === undefined ? changeOver : () => {},
      ),
    switchTo(source) {
      if (source !== successor.source || hasChangedOver) return;
      hasChangedOver = true;
      log.info(
        'The listings are from the value-transfer service already, as an earlier start or another gateway has found: v1 is not asked again. When it suits you, set UPSTREAM_PROFILE=value-transfer, and UPSTREAM_URL to the address of the successor',
      );
    },
  };
}

function isGone(error: unknown): error is UpstreamError {
  return error instanceof UpstreamError && error.code === 'UPSTREAM_GONE';
}
