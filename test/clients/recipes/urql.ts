import { Client, fetchExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';

const none = () => null;
const ofListings = { ListingStatus: none, ListingFailure: none, ChainChanges: none, TokenChanges: none };
const ofRoutes = { ChainDestinations: none, TokenSources: none };
export const keys = { Price: none, NativeCurrency: none, HeldBackFact: none, ...ofRoutes, ...ofListings };

export function createClient(url = 'http://127.0.0.1:4000/graphql') {
  return new Client({ url, exchanges: [cacheExchange({ keys }), fetchExchange] });
}
