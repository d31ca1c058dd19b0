import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';

const tokenSearch = relayStylePagination(['query', 'filter', 'orderBy']);

export function createClient(uri = 'http://127.0.0.1:4000/graphql') {
  const typePolicies = { Query: { fields: { tokenSearch } }, NativeCurrency: { merge: true } };
  const cache = new InMemoryCache({ typePolicies });
  return new ApolloClient({ link: new HttpLink({ uri }), cache });
}
