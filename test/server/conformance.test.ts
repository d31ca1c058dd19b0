/** The gateway passes the audits of graphql-http for the specification GraphQL over HTTP. */
import { serverAudits } from 'graphql-http';
import { expect, it } from 'vitest';
import { share } from '../support/ends.js';
import { answerOf, createTestGateway } from '../support/test-gateway.js';

const shared = share((atEnd) => createTestGateway({ atEnd }));
const fetchFn = (url: string, init?: RequestInit) => answerOf(shared.gateway, new Request(url, init));

const audits = serverAudits({ url: 'http://gateway/graphql', fetchFn });

it.each(audits.map(({ name, fn }) => [name, fn] as const))('GraphQL over HTTP: %s', async (_name, fn) => {
  expect(await fn()).toMatchObject({ status: 'ok' });
});
