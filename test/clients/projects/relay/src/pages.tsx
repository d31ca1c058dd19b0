import { Suspense, useLayoutEffect } from 'react';
import { graphql, useLazyLoadQuery, usePaginationFragment, useRefetchableFragment } from 'react-relay';
import type { pages_token$key } from './__generated__/pages_token.graphql';
import type { pagesPickerQuery } from './__generated__/pagesPickerQuery.graphql';
import type { pagesTokenQuery } from './__generated__/pagesTokenQuery.graphql';
import type {
  TokenPicker_query$data,
  TokenPicker_query$key,
} from './__generated__/TokenPicker_query.graphql';
import type { TokenPickerPageQuery } from './__generated__/TokenPickerPageQuery.graphql';
import { FOUND_TOKENS } from './TokenPicker';

/** A picker of tokens: a list, and a button that loads the next page, as long as there is one. */
export function TokenPicker(props: {
  readonly search: string;
  readonly onShown: (found: TokenPicker_query$data['tokenSearch']) => void;
}) {
  const query = graphql`
    query pagesPickerQuery($search: String!) {
      ...TokenPicker_query @arguments(search: $search, first: 20)
    }
  `;
  const found = useLazyLoadQuery<pagesPickerQuery>(query, { search: props.search });
  return <FoundTokens found={found} onShown={props.onShown} />;
}

function FoundTokens(props: {
  readonly found: TokenPicker_query$key;
  readonly onShown: (found: TokenPicker_query$data['tokenSearch']) => void;
}) {
  const { data, hasNext, isLoadingNext, loadNext } = usePaginationFragment<
    TokenPickerPageQuery,
    TokenPicker_query$key
  >(FOUND_TOKENS, props.found);
  useLayoutEffect(() => props.onShown(data.tokenSearch));
  return (
    <>
      <ul>
        {data.tokenSearch?.edges.map(({ node }) => (
          <li key={node.id}>{node.symbol}</li>
        ))}
      </ul>
      <button type="button" disabled={isLoadingNext} hidden={!hasNext} onClick={() => loadNext(20)}>
        More
      </button>
    </>
  );
}

/** A token with the time of its price, and a button that fetches the token again. */
export function TokenPrice(props: { readonly srcChainKey: string; readonly srcToken: string }) {
  const query = graphql`
    query pagesTokenQuery($srcChainKey: String!, $srcToken: String!) {
      token(chainKey: $srcChainKey, address: $srcToken) {
        ...pages_token
      }
    }
  `;
  const { token } = useLazyLoadQuery<pagesTokenQuery>(query, props);
  return token && <Price token={token} />;
}

function Price(props: { readonly token: pages_token$key }) {
  const fragment = graphql`
    fragment pages_token on Token @refetchable(queryName: "pagesTokenRefetchQuery") {
      symbol
      price {
        asOf
      }
    }
  `;
  const [token, refetch] = useRefetchableFragment(fragment, props.token);
  const again = () => refetch({}, { fetchPolicy: 'network-only' });
  return (
    <Suspense>
      <p>
        {token.symbol} {token.price?.asOf}
      </p>
      <button type="button" onClick={again}>
        Again
      </button>
    </Suspense>
  );
}
