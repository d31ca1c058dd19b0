import { startGatewayProcess } from './gateway-process.js';

/** A built gateway that many tests share. The caller that starts it must end it. */
export interface SharedGateway {
  /** Such as `http://127.0.0.1:40123/graphql`. */
  readonly endpoint: string;
  readonly end: () => Promise<void>;
}

/** Without refreshes, prices of two responses are equal: the demo changes them at each refresh. */
const UNCHANGING = { TOKENS_FRESH_MS: '3600000' };

/** Starts the built gateway with the demo data, unless the settings say otherwise. */
export async function startSharedGateway(env: Record<string, string> = {}): Promise<SharedGateway> {
  const ends: (() => Promise<void>)[] = [];
  const { address } = await startGatewayProcess({ ...UNCHANGING, ...env }, (end) => ends.push(end));
  return {
    endpoint: `${address}/graphql`,
    async end() {
      for (const end of ends) await end();
    },
  };
}
