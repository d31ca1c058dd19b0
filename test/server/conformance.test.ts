/** The gateway passes the audits of graphql-http for the specification GraphQL over HTTP. */
import { serverAudits } from 'graphql-http';
import { describe, it } from 'vitest';
import { answerOf, createTestGateway } from '../support/test-gateway.js';

describe('GraphQL over HTTP', () => {
  for (const audit of serverAudits({ url: 'http://gateway/graphql' })) {
    it(audit.name, async () => {
      const { gateway } = await createTestGateway();
      const [own] = serverAudits({
        url: 'http://gateway/graphql',
        fetchFn: (url: string, init?: RequestInit) => answerOf(gateway, new Request(url, init)),
      }).filter(({ id }) => id === audit.id);
      const result = await own?.fn();
      if (result?.status !== 'ok') throw new Error(`${result?.status}: ${JSON.stringify(result)}`);
    });
  }
});
