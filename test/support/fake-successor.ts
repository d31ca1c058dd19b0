/** A real HTTP server like the value-transfer service, whose rows have another form and come in pages. */
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { successorChain, successorToken } from '../fixtures/rows.js';
import {
  type Answer,
  type FakeListings,
  type FakeUpstream,
  json,
  startFakeUpstream,
} from './fake-upstream.js';

/** The rows of the fake successor, and the size of a page: all rows by default. */
export interface FakeSuccessorListings extends FakeListings {
  readonly pageSize?: number;
}

export const NEXT_TOKEN = 'pagination[nextToken]';

export async function startFakeSuccessor(listings: FakeSuccessorListings = {}): Promise<FakeUpstream> {
  const { pageSize, chains, tokens } = listings;
  const successor = await startFakeUpstream();
  successor.plan('chains', paged('chains', chains ?? demoChains.map(successorChain), pageSize));
  successor.plan('tokens', paged('tokens', tokens ?? demoTokens.map(successorToken), pageSize));
  return successor;
}

export function paged(
  name: 'chains' | 'tokens',
  rows: readonly unknown[],
  pageSize: number = rows.length,
): Answer {
  return (response, request, nth) => {
    const from = Number(/^from (\d+)\/$/.exec(tokenOf(request.url) ?? '')?.[1] ?? 0);
    const to = from + pageSize;
    // The space and the slash have a meaning in URLs. A real `nextToken` can contain such characters, too.
    const pagination = to < rows.length ? { nextToken: `from ${to}/` } : {};
    json({ [name]: rows.slice(from, to), pagination })(response, request, nth);
  };
}

/** The token of the requested page; null for the first page. */
export function tokenOf(url: string | undefined): string | null {
  return new URL(url ?? '', 'http://fake').searchParams.get(NEXT_TOKEN);
}
