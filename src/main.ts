/**
 * The process begins here. V8 lets less garbage pile up than of itself, which takes half the memory and hardly
 * more time: a gateway makes much of it at each refresh and with each long answer, and next to none in
 * between. That is to be said before there is any, and so before the rest is loaded.
 */
import { setFlagsFromString } from 'node:v8';

setFlagsFromString('--heap-growing-percent=20');
setFlagsFromString('--semi-space-growth-factor=1');
await import('./start.js');
