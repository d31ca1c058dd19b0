import { mkdirSync, writeFileSync } from 'node:fs';
import { schema } from '../schema/index.js';
import { stitchingSdlOf } from './stitching.js';
import { subgraphSdlOf } from './subgraph.js';

// The part of `npm run schema` that is not committed: what `_service { sdl }` and `_sdl` answer, as files.
const build = new URL('../../../build/', import.meta.url);
mkdirSync(build, { recursive: true });
writeFileSync(new URL('subgraph.graphql', build), subgraphSdlOf(schema));
writeFileSync(new URL('stitching.graphql', build), stitchingSdlOf(schema));
