import { parse } from 'graphql';
import { load } from 'js-yaml';

/** The subgraphs of a recipe, each with its SDL. */
export function servicesOf(recipe) {
  const { subgraphs } = load(recipe);
  // Apollo's recipe has an object by name, Cosmo's a list.
  const listed = Array.isArray(subgraphs)
    ? subgraphs
    : Object.entries(subgraphs).map(([name, subgraph]) => ({ name, ...subgraph }));
  return Promise.all(
    listed.map(async ({ name, routing_url: url, schema, introspection }) => {
      const response = await fetch(schema?.subgraph_url ?? introspection.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"query":"{ _service { sdl } }"}',
      });
      const { data } = await response.json();
      return { name, url, typeDefs: parse(data._service.sdl) };
    }),
  );
}
