/** The field sources is written like other fields, and its responses are never stored. */
import { expect, it } from 'vitest';
import { stopDate } from '../../support/clock.js';
import {
  type Network,
  routesOf,
  SOURCES,
  SWEEPING,
  startSweeping,
  startSweptUpstream,
  untilComplete,
} from '../../support/sweep.js';
import { startServer } from '../../support/test-server.js';

const NETWORK: Network = { 'a 0x1': ['b 0x1', 'c 0x1'], 'b 0x1': ['a 0x1'], 'c 0x1': [] };
const OF_B = { query: SOURCES, variables: { dstChainKey: 'b', dstToken: '0X1' } };

it('sources are written by the operation writer, with the same bytes as by GraphQL Yoga', async () => {
  stopDate();
  const gateway = await startSweeping(await startSweptUpstream(NETWORK));
  await untilComplete(gateway);
  const toRequest = () => expect.fail('GraphQL Yoga is asked');
  const request = { isOperation: true, parameters: () => OF_B, toRequest };
  const answer = await gateway.gateway.respond(request, { requestId: 'any' });
  const response = await gateway.post(OF_B);
  const body = await response.text();
  expect(answer && 'written' in answer && Buffer.concat(answer.written.body).toString()).toBe(body);
  expect(JSON.parse(body)).toMatchObject({
    data: { sources: { chains: [{ tokens: [{ address: '0x1' }] }] } },
  });
});

it('sources are not stored, so a response has at once what the sweep has found', async () => {
  const date = stopDate();
  const upstream = await startSweptUpstream(NETWORK);
  const server = await startServer({ upstream, config: SWEEPING });
  server.snapshots.start();
  const { asOf } = await untilComplete(server);
  const { count, bodies: earlier } = await server.countExecuted(OF_B, OF_B, OF_B);
  expect([count, new Set(earlier).size]).toEqual([3, 1]);
  const before = upstream.asked().length;
  upstream.planRoutes(routesOf({ ...NETWORK, 'c 0x1': ['b 0x1'] }));
  date.advance(200);
  await expect.poll(() => upstream.asked().length, { interval: 10 }).toBe(before + 3);
  await expect.poll(async () => (await untilComplete(server)).asOf, { interval: 10 }).not.toBe(asOf);
  const { bodies } = await server.countExecuted(OF_B);
  expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
    data: { sources: { chains: [{ chainKey: 'a' }, { chainKey: 'c' }], isComplete: true } },
  });
});
