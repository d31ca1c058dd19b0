/** The gateway passes the audits of graphql-http for the specification GraphQL over HTTP. */
import { serverAudits } from 'graphql-http';
import { expect, it } from 'vitest';
import { share } from '../support/ends.js';
import { answerOf, createTestGateway } from '../support/test-gateway.js';

const shared = share((atEnd) => createTestGateway({ atEnd }));
const fetchFn = (url: string, init?: RequestInit) => answerOf(shared.gateway, new Request(url, init));

it.each(serverAudits({ url: 'http://gateway/graphql', fetchFn }))(
  'GraphQL over HTTP: $name',
  async ({ fn }) => {
    expect(await fn()).toMatchObject({ status: 'ok' });
  },
);
