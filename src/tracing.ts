/** Makes spans for an OpenTelemetry SDK, if one is loaded. */
import {
  type Attributes,
  context,
  isSpanContextValid,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';

/** Finds the OpenTelemetry SDK that was loaded before this call (`node --import`). Without one, returns undefined. */
export function currentTracing() {
  const tracer = trace.getTracer('chains-and-tokens-gateway');
  // The probe is never ended, so it is never exported. Without an SDK its id is invalid.
  const probe = tracer.startSpan('start', { root: true });
  return isSpanContextValid(probe.spanContext()) ? createTracing(tracer) : undefined;
}

function createTracing(tracer: Tracer) {
  return {
    inRequest<Result>(headers: object, run: (end: EndSpan) => Result): Result {
      // If an SDK instruments HTTP, there is already a span, which continues the trace of the headers.
      const active = context.active();
      const parent = trace.getSpan(active) ? active : propagation.extract(active, headers);
      return tracer.startActiveSpan('request', { kind: SpanKind.SERVER }, parent, (span) => run(endOf(span)));
    },
    /** Runs the function in a span for one attempt at the upstream. `headers` carry the trace to the upstream. */
    inAttempt<Result>(
      attributes: Attributes,
      run: (end: EndSpan, headers: Readonly<Record<string, string>>) => Result,
    ): Result {
      return tracer.startActiveSpan('upstream', { kind: SpanKind.CLIENT, attributes }, (span) => {
        const headers: Record<string, string> = {};
        propagation.inject(context.active(), headers);
        return run(endOf(span), headers);
      });
    },
    /** Binds a function to the current span: it runs in that span, even if a queue calls it later. */
    bind: <Task extends (...given: never[]) => unknown>(task: Task): Task =>
      context.bind(context.active(), task),
    /** The ids of the current span, for the log. Empty outside of spans. */
    ids(): { readonly trace_id?: string; readonly span_id?: string } {
      const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {};
      return traceId === undefined || spanId === undefined ? {} : { trace_id: traceId, span_id: spanId };
    },
  };
}

/** Ends a span. Call it exactly once. @param error the error code, if the request or attempt failed */
export type EndSpan = ReturnType<typeof endOf>;

function endOf(span: Span) {
  return (attributes: Attributes, error?: string): void => {
    span.setAttributes(attributes);
    if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    span.end();
  };
}
