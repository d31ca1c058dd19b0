import { Client, fetchExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';

const none = () => null;
const ofListings = { ListingStatus: none, ListingFailure: none };
export const keys = { Price: none, NativeCurrency: none, ChainDestinations: none, ...ofListings };

export function createClient(url = 'http://127.0.0.1:4000/graphql') {
  return new Client({ url, exchanges: [cacheExchange({ keys }), fetchExchange] });
}
