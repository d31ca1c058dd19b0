import { createServer } from 'node:http';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { parse } from 'graphql';
import { createYoga } from 'graphql-yoga';

const facts = new Map([['eip155:1', { explorerUrl: 'https://etherscan.io', rpcUrls: ['https://eth.test'] }]]);
const typeDefs = parse(`
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key"])
  type Chain @key(fields: "caip2") { caip2: String explorerUrl: String iconUrl: String rpcUrls: [String!] }
  type Query { chainsWithFacts: [Chain!]! }`);
const withFacts = ({ caip2 }) => ({ caip2, ...facts.get(caip2) });
const chainsWithFacts = () => [...facts.keys()].map((caip2) => withFacts({ caip2 }));
const resolvers = { Chain: { __resolveReference: withFacts }, Query: { chainsWithFacts } };
createServer(createYoga({ schema: buildSubgraphSchema({ typeDefs, resolvers }) })).listen(4001);
