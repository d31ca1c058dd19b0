import { startGatewayProcess } from './gateway-process.js';

/** A built gateway that many tests share: what starts it has to end it. */
export interface SharedGateway {
  /** Such as `http://127.0.0.1:40123/graphql`. */
  readonly endpoint: string;
  readonly end: () => Promise<void>;
}

/** Starts the built gateway with the demo data, unless the settings say otherwise. */
export async function startSharedGateway(env: Record<string, string> = {}): Promise<SharedGateway> {
  const ends: (() => Promise<void>)[] = [];
  const { address } = await startGatewayProcess(env, (end) => ends.push(end));
  return {
    endpoint: `${address}/graphql`,
    async end() {
      for (const end of ends) await end();
    },
  };
}
