/** The process begins here, with what is to be so before anything else is loaded. */
import { setFlagsFromString } from 'node:v8';

// GraphQL checks much again and again otherwise, for those who develop with it.
process.env.NODE_ENV ??= 'production';
// A gateway makes much garbage at each refresh and with each long answer: to let less of it pile up than V8
// does of itself takes two thirds of the memory, and hardly more time.
setFlagsFromString('--heap-growing-percent=20');

await import('./start.js');
