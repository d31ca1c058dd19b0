import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Opens a port and sends its number to the parent process. This process ends when the parent process ends. */
export function serve(server: Server): void {
  process.once('disconnect', () => process.exit());
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
}
