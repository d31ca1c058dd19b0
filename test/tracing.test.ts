/** Requests are traced if an SDK of OpenTelemetry is loaded, and not otherwise. */
import { context, propagation, trace } from '@opentelemetry/api';
import { NodeTracerProvider, type Span } from '@opentelemetry/sdk-trace-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { currentTracing } from '../src/tracing.js';
import { startServer } from './support/test-server.js';

const spans: Span[] = [];
const idOf = (span: Span | undefined) => span?.spanContext().spanId;
const parentIdOf = ({ parentSpanContext }: Span) => parentSpanContext?.spanId;
const TRACE_ID = 'abcdef0123456789abcdef0123456789';
const CLIENT_SPAN = '1234567890abcdef';

function registerSdk(): void {
  const nothing = async () => {};
  const onStart = (span: Span) => void spans.push(span);
  const recorder = { onStart, onEnd() {}, forceFlush: nothing, shutdown: nothing };
  new NodeTracerProvider({ spanProcessors: [recorder] }).register();
}

function unregister(): void {
  trace.disable();
  propagation.disable();
  context.disable();
}

describe('with an SDK of OpenTelemetry', () => {
  beforeEach(() => {
    spans.length = 0;
    registerSdk();
  });
  afterEach(unregister);

  it('one trace connects the client, the operation, the upstream and the log line', async () => {
    const server = await startServer();
    const headers = { traceparent: `00-${TRACE_ID}-${CLIENT_SPAN}-01` };
    const query = 'query Routes { tokens(srcChainKey: "base", srcToken: "0x1") { name } }';
    const asked = { query, operationName: 'Routes', headers };
    // Other operations wait in the same queue: their spans must not mix with those of this request.
    await Promise.all([server.ask({ query: '{ chains { name } }' }), server.ask(asked)]);
    // Without routes, so that the third answer is from the response cache.
    const cached = { ...asked, query: 'query Routes { tokens { name } }' };
    for (let times = 0; times < 3; times++) await server.ask(cached);

    const own = spans.filter((span) => span.spanContext().traceId === TRACE_ID);
    const requests = own.filter(({ name }) => name === 'request');
    expect(requests.map(parentIdOf)).toEqual(Array(4).fill(CLIENT_SPAN));
    const named = { 'graphql.operation.name': 'Routes' };
    expect(requests[0]?.attributes).toMatchObject({ ...named, 'http.response.status_code': 200 });
    expect(requests.at(-1)?.attributes).toMatchObject({ ...named, 'gateway.cache': 'hit' });
    expect(own.every(({ ended }) => ended)).toBe(true);

    const attempts = own.filter(({ name }) => name === 'upstream');
    const route = attempts.find((span) => parentIdOf(span) === idOf(requests[0]));
    expect(route?.attributes).toEqual({ 'gateway.upstream': 'v1', 'gateway.path': 'tokens' });
    const sent = server.upstream.seen.map((request) => request.headers.traceparent);
    expect(sent).toContain(`00-${TRACE_ID}-${idOf(route)}-01`);

    const lines = server.serverLog.filter(({ operation }) => operation === 'Routes');
    expect(lines.map(({ trace_id }) => trace_id)).toEqual(Array(4).fill(TRACE_ID));
    expect(lines.map(({ span_id }) => span_id)).toEqual(requests.map(idOf));
  });

  it('a request without a trace starts one, and names of spans never come from clients', async () => {
    const server = await startServer();
    await server.ask({ query: 'query Odd { no }', operationName: 'Odd' });
    const [request, ...others] = spans.filter(({ name }) => name !== 'start');
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      name: 'request',
      parentSpanContext: undefined,
      ended: true,
      attributes: { 'gateway.cache': 'refused', 'gateway.error_codes': ['GRAPHQL_VALIDATION_FAILED'] },
    });
  });
});

it('requests are not traced without an SDK, and the log has no ids', async () => {
  unregister();
  expect(currentTracing()).toBeUndefined();
  const server = await startServer();
  await server.ask({ query: '{ __typename }' });
  expect(server.serverLog.at(-1)).not.toHaveProperty('trace_id');
});
