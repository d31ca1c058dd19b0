import { composeServices as composeWithApollo } from '@apollo/composition';
import { composeServices as composeWithHive } from '@theguild/federation-composition';
import { federateSubgraphs, ROUTER_COMPATIBILITY_VERSION_ONE } from '@wundergraph/composition';
import { servicesOf } from './services.js';

// Composes the subgraphs of two recipes, and the first of them alone. Prints the errors and warnings of each composer.
const [, , recipeOfApollo, recipeOfCosmo] = process.argv;
const services = await servicesOf(recipeOfApollo);
const servicesOfCosmo = await servicesOf(recipeOfCosmo);
const complaints = {};
for (const count of [1, services.length]) {
  const apollo = composeWithApollo(services.slice(0, count));
  const hive = composeWithHive(services.slice(0, count));
  const cosmo = federateSubgraphs({
    subgraphs: servicesOfCosmo
      .slice(0, count)
      .map(({ name, url, typeDefs }) => ({ name, url, definitions: typeDefs })),
    version: ROUTER_COMPATIBILITY_VERSION_ONE,
  });
  complaints[services.slice(0, count).map(({ name }) => name)] = {
    '@apollo/composition': [...(apollo.errors ?? []), ...(apollo.hints ?? [])],
    '@theguild/federation-composition': hive.errors ?? [],
    '@wundergraph/composition': [...(cosmo.errors ?? []), ...cosmo.warnings],
  };
}
process.stdout.write(JSON.stringify(complaints, (_key, value) => value?.message ?? value));
