import type { Listing, ListingSource, Origin } from '../domain/listing.js';
import { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger.js';
import type { FieldWatch } from './field-watch.js';
import type { UpstreamAnswer, UpstreamHttp, UpstreamRequest } from './http/client.js';

/** Makes the {@link Listing} of one kind of service. */
export type CreateListing = (options: ServiceOptions) => Listing;

export interface ServiceOptions {
  /** Sends requests to the address of the service. */
  readonly http: UpstreamHttp;
  /** The name of the service, which its rows carry. */
  readonly source: ListingSource;
  /** The limit on all pages of one answer together, counted after decompression. */
  readonly maxBytes: number;
  /** To be given the rows of each whole listing as they came. */
  readonly watchFields: FieldWatch;
  readonly log: Logger;
}

/**
 * Requests tokens. For routes from a token that they do not know, the services answer HTTP 422. That is no failure:
 * nothing can be reached from there.
 *
 * @throws UpstreamError
 */
export async function getTokens(http: UpstreamHttp, request: UpstreamRequest): Promise<UpstreamAnswer> {
  const sentAt = Date.now();
  try {
    return await http.getJson(request);
  } catch (error) {
    // Checks the code, too: a service can say with any status that it is gone.
    const isUnknown =
      error instanceof UpstreamError && error.code === 'UPSTREAM_STATUS' && error.status === 422;
    if (isUnknown && !request.first) {
      return { json: { tokens: [] }, bytes: 0, sentAt, ageMs: 0 };
    }
    throw error;
  }
}

/** The source and the age of the rows of an answer. */
export function originOf(
  source: ListingSource,
  { sentAt, ageMs }: Pick<UpstreamAnswer, 'sentAt' | 'ageMs'>,
): Origin {
  return { source, takenAt: sentAt - ageMs, upstreamAgeMs: ageMs };
}
