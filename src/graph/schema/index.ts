import { builder } from './builder.js';
import './scalars.js';
import './chain.js';
import './token.js';
import './token-search.js';
import './destinations.js';
import './changes.js';
import './sources.js';
import './listing-status.js';

/** The whole graph. It is the same for all settings. */
export const schema = builder.toSchema();
