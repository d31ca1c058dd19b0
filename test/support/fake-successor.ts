import { demoChains, demoTokens } from '../fixtures/demo.js';
import { successorChain, successorToken } from '../fixtures/rows.js';
import {
  type Answer,
  type FakeListings,
  type FakeUpstream,
  json,
  startFakeUpstream,
} from './fake-upstream.js';

/** The rows of the fake successor, and how many of them one page has; all of them unless given. */
export interface FakeSuccessorListings extends FakeListings {
  readonly pageSize?: number;
}

/** The query parameter that asks for a further page. */
export const NEXT_TOKEN = 'pagination[nextToken]';

/** A real HTTP server in the form of the value-transfer service, which is the v1 service's but for its rows and pages. */
export async function startFakeSuccessor(listings: FakeSuccessorListings = {}): Promise<FakeUpstream> {
  const { pageSize, chains, tokens } = listings;
  const successor = await startFakeUpstream();
  successor.plan('chains', paged('chains', chains ?? demoChains.map(successorChain), pageSize));
  successor.plan('tokens', paged('tokens', tokens ?? demoTokens.map(successorToken), pageSize));
  return successor;
}

/** Answers 200 with the page of these rows that the token asks for. */
export function paged(
  name: 'chains' | 'tokens',
  rows: readonly unknown[],
  pageSize: number = rows.length,
): Answer {
  return (response, request, nth) => {
    const from = Number(/^from (\d+)\/$/.exec(tokenOf(request.url) ?? '')?.[1] ?? 0);
    const to = from + pageSize;
    // As a token may be: with characters that mean something in an address.
    const pagination = to < rows.length ? { nextToken: `from ${to}/` } : {};
    json({ [name]: rows.slice(from, to), pagination })(response, request, nth);
  };
}

/** The token of the page that this request asks for; null for the first. */
export function tokenOf(url: string | undefined): string | null {
  return new URL(url ?? '', 'http://fake').searchParams.get(NEXT_TOKEN);
}
