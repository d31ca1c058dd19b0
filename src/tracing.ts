/** Spans for an OpenTelemetry SDK, if one is loaded. */
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

/** A span of this gateway. */
export interface TraceSpan {
  /** Call it exactly once. @param error an error code, if the request failed */
  end(attributes: Attributes, error?: string): void;
}

export interface Tracing {
  /**
   * Runs the function in a span for a client's request. It continues the trace of the active span, else of the headers.
   *
   * @param name a fixed text, never one from the client
   */
  inRequest<Result>(name: string, headers: object, run: (span: TraceSpan) => Result): Result;
  /** Runs the function in a span for one attempt at the upstream, with the headers that continue the trace there. */
  inAttempt<Result>(
    attributes: Attributes,
    run: (span: TraceSpan, headers: Readonly<Record<string, string>>) => Result,
  ): Result;
  /** Binds a function to the current span: it runs in that span, also if a queue calls it later. */
  bind<Task extends (...given: never[]) => unknown>(task: Task): Task;
  /** The ids of the current span, for the log. Empty outside of spans. */
  ids(): { readonly trace_id?: string; readonly span_id?: string };
}

/** Finds the OpenTelemetry SDK that was loaded before (`node --import`). Without one, tracing costs nothing. */
export function currentTracing(): Tracing | undefined {
  const tracer = trace.getTracer('chains-and-tokens-gateway');
  // The probe is never ended, so it is never exported. Without an SDK its id is invalid.
  const probe = tracer.startSpan('start', { root: true });
  return isSpanContextValid(probe.spanContext()) ? createTracing(tracer) : undefined;
}

function createTracing(tracer: Tracer): Tracing {
  return {
    inRequest(name, headers, run) {
      // If an SDK instruments HTTP, there is already a span that continues the trace of the headers.
      const active = context.active();
      const parent = trace.getSpan(active) ? active : propagation.extract(active, headers);
      const span = tracer.startSpan(name, { kind: SpanKind.SERVER }, parent);
      return context.with(trace.setSpan(parent, span), () => run(ending(span)));
    },
    inAttempt(attributes, run) {
      const span = tracer.startSpan('upstream', { kind: SpanKind.CLIENT, attributes });
      const own = trace.setSpan(context.active(), span);
      const headers: Record<string, string> = {};
      propagation.inject(own, headers);
      return context.with(own, () => run(ending(span), headers));
    },
    bind: (task) => context.bind(context.active(), task),
    ids() {
      const { traceId, spanId } = trace.getActiveSpan()?.spanContext() ?? {};
      return traceId === undefined || spanId === undefined ? {} : { trace_id: traceId, span_id: spanId };
    },
  };
}

function ending(span: Span): TraceSpan {
  return {
    end(attributes, error) {
      span.setAttributes(attributes);
      if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error });
      span.end();
    },
  };
}
