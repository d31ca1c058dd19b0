/** Requests are traced if an SDK of OpenTelemetry is loaded, and not otherwise. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Context,
  context,
  defaultTextMapGetter,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { currentTracing } from '../src/tracing.js';
import { startServer } from './support/test-server.js';

interface Recorded {
  readonly name: string;
  readonly parentId: string | undefined;
  readonly ids: SpanContext;
  attributes: Attributes;
  hasEnded: boolean;
}

const recorded: Recorded[] = [];
const TRACE_ID = 'abcdef0123456789abcdef0123456789';
const CLIENT_SPAN = '1234567890abcdef';

/** Registers as an SDK does: spans, contexts that follow asynchronous calls, and the header `traceparent`. */
function registerSdk(): void {
  const storage = new AsyncLocalStorage<Context>();
  const manager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (given: Context, run: () => unknown) => storage.run(given, run),
    bind:
      (given: Context, run: (...rest: unknown[]) => unknown) =>
      (...rest: unknown[]) =>
        storage.run(given, () => run(...rest)),
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager as never);
  propagation.setGlobalPropagator({
    inject(given, carrier, setter) {
      const { traceId, spanId } = trace.getSpanContext(given) ?? {};
      if (traceId) setter.set(carrier, 'traceparent', `00-${traceId}-${spanId}-01`);
    },
    extract(given, carrier, getter = defaultTextMapGetter) {
      const [, traceId, spanId] =
        /^00-(\w+)-(\w+)-01$/.exec(String(getter.get(carrier, 'traceparent'))) ?? [];
      if (!traceId || !spanId) return given;
      return trace.setSpanContext(given, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true });
    },
    fields: () => ['traceparent'],
  });
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan: startSpan as never }) });
}

function startSpan(name: string, { attributes = {} } = {}, given = context.active()): Span {
  const parent = trace.getSpanContext(given);
  const spanId = (recorded.length + 1).toString(16).padStart(16, '0');
  const traceId = parent?.traceId ?? spanId.padStart(32, 'f');
  const own: Recorded = {
    name,
    parentId: parent?.spanId,
    ids: { traceId, spanId, traceFlags: TraceFlags.SAMPLED },
    attributes: { ...attributes },
    hasEnded: false,
  };
  recorded.push(own);
  const span = {
    spanContext: () => own.ids,
    setAttributes: (more: Attributes) => Object.assign(own.attributes, more),
    setStatus: () => span,
    end: () => {
      own.hasEnded = true;
    },
  };
  return span as unknown as Span;
}

function unregister(): void {
  trace.disable();
  propagation.disable();
  context.disable();
}

describe('with an SDK of OpenTelemetry', () => {
  beforeEach(() => {
    recorded.length = 0;
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
    for (let times = 0; times < 2; times++) await server.ask(asked);

    const own = recorded.filter(({ ids }) => ids.traceId === TRACE_ID);
    const requests = own.filter(({ name }) => name === 'request');
    expect(requests.map(({ parentId }) => parentId)).toEqual(Array(3).fill(CLIENT_SPAN));
    const named = { 'graphql.operation.name': 'Routes' };
    expect(requests[0]?.attributes).toMatchObject({ ...named, 'http.response.status_code': 200 });
    expect(requests.at(-1)?.attributes).toMatchObject({ ...named, 'gateway.cache': 'hit' });
    expect(own.every(({ hasEnded }) => hasEnded)).toBe(true);

    const attempts = own.filter(({ name }) => name === 'upstream');
    const route = attempts.find(({ parentId }) => parentId === requests[0]?.ids.spanId);
    expect(route?.attributes).toEqual({ 'gateway.upstream': 'v1', 'gateway.path': 'tokens' });
    const sent = server.upstream.seen.map((request) => request.headers.traceparent);
    expect(sent).toContain(`00-${TRACE_ID}-${route?.ids.spanId}-01`);

    const lines = server.serverLog.filter(({ operation }) => operation === 'Routes');
    expect(lines.map(({ trace_id }) => trace_id)).toEqual(Array(3).fill(TRACE_ID));
    expect(lines.map(({ span_id }) => span_id)).toEqual(requests.map(({ ids }) => ids.spanId));
  });

  it('a request without a trace starts one, and names of spans never come from clients', async () => {
    const server = await startServer();
    await server.ask({ query: 'query Odd { no }', operationName: 'Odd' });
    const spans = recorded.filter(({ name }) => name !== 'start');
    expect(new Set(spans.map(({ name }) => name))).toEqual(new Set(['request']));
    expect(spans[0]).toMatchObject({
      parentId: undefined,
      hasEnded: true,
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
