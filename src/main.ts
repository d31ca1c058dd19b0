/**
 * The process begins here. V8 lets less garbage pile up than of itself, which takes half the memory and hardly
 * more time: a gateway makes much of it at each refresh and with each long answer, and next to none in between.
 */
import { setFlagsFromString } from 'node:v8';

// Before there is any garbage: what has grown for it stays.
setFlagsFromString('--semi-space-growth-factor=1');
await import('./start.js');
// Only now: while everything is loaded, what is collected so often is hardly garbage.
setFlagsFromString('--heap-growing-percent=20');
