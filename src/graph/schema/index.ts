import { builder } from './builder.js';
import './scalars.js';
import './chain.js';
import './token.js';
import './token-search.js';
import './destinations.js';
import './listing-status.js';

/** The graph; it depends on no setting. */
export const schema = builder.toSchema();
