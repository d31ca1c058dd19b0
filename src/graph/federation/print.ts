/** Part of `npm run schema`: writes the SDL of `_service { sdl }` and `_sdl` to build/, which is not committed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { schema } from '../schema/index.js';
import { stitchingSdlOf, subgraphSdlOf } from './sdl.js';

const build = new URL('../../../build/', import.meta.url);
mkdirSync(build, { recursive: true });
writeFileSync(new URL('subgraph.graphql', build), subgraphSdlOf(schema));
writeFileSync(new URL('stitching.graphql', build), stitchingSdlOf(schema));
