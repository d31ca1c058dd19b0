/** A page with the three pickers, which each typed client compiles and runs. */
import { execute } from './execute.js';
import { graphql } from './graphql.js';

/** The queries of the pickers. */
interface Questions {
  readonly endpoint: string;
  readonly chains: string;
  readonly tokens: string;
  readonly source: { readonly srcChainKey: string; readonly srcToken: string };
}

const CHAIN_PICKER = graphql(`
  query ChainPicker($search: String) {
    chains(search: $search) { id chainKey name tokenCount nativeCurrency { symbol } }
  }
`);
const TOKEN_PICKER = graphql(`
  query TokenPicker($query: String, $filter: TokenFilter, $orderBy: TokenOrder, $first: Int, $after: String) {
    tokenSearch(query: $query, filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
      totalCount
      edges { cursor node { id symbol name decimals address price { usd asOf } chain { id name } } }
      pageInfo { hasNextPage endCursor }
    }
  }
`);
const DESTINATION_PICKER = graphql(`
  query DestinationPicker($srcChainKey: String!, $srcToken: String!) {
    destinations(srcChainKey: $srcChainKey, srcToken: $srcToken) {
      chainKey
      chain { id name }
      tokens { id symbol decimals address }
    }
  }
`);

const questions = JSON.parse(process.argv[2] ?? '') as Questions;

export const { chains } = await execute(questions.endpoint, CHAIN_PICKER, { search: questions.chains });
export const { tokenSearch } = await execute(questions.endpoint, TOKEN_PICKER, {
  query: questions.tokens,
  filter: { hasPrice: true },
  orderBy: 'RELEVANCE',
  first: 100,
});
export const { destinations } = await execute(questions.endpoint, DESTINATION_PICKER, questions.source);
export const times: string[] = (tokenSearch?.edges ?? []).flatMap(({ node }) => node.price?.asOf ?? []);

process.stdout.write(JSON.stringify({ chains, tokenSearch, destinations, times }));
