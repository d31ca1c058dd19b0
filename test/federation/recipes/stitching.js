import { createServer } from 'node:http';
import { buildHTTPExecutor } from '@graphql-tools/executor-http';
import { stitchSchemas } from '@graphql-tools/stitch';
import { stitchingDirectives } from '@graphql-tools/stitching-directives';
import { buildSchema } from 'graphql';
import { createYoga } from 'graphql-yoga';

const subschemas = [4000, 4001].map(async (port) => {
  const endpoint = `http://127.0.0.1:${port}/graphql`;
  const { data } = await (await fetch(`${endpoint}?query={_sdl}`)).json();
  return { schema: buildSchema(data._sdl), executor: buildHTTPExecutor({ endpoint }), batch: true };
});
const subschemaConfigTransforms = [stitchingDirectives().stitchingDirectivesTransformer];
const schema = stitchSchemas({ subschemas: await Promise.all(subschemas), subschemaConfigTransforms });
createServer(createYoga({ schema })).listen(4002);
