import { graphql } from 'react-relay';

export const FOUND_TOKENS = graphql`
  fragment TokenPicker_query on Query
  @argumentDefinitions(search: { type: "String" }, first: { type: "Int" }, after: { type: "String" })
  @refetchable(queryName: "TokenPickerPageQuery") {
    tokenSearch(query: $search, first: $first, after: $after) @connection(key: "TokenPicker_tokenSearch") {
      totalCount
      edges { node { id symbol name decimals address price { usd asOf } chain { id name } } }
    }
  }
`;
