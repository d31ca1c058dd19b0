// Traces by OpenTelemetry: `node --import ./.deploy/otel.mjs dist/main.js`. Its packages are no dependencies of the
// gateway; install them beside it:
//   npm install --no-save @opentelemetry/sdk-node@0.223 @opentelemetry/exporter-trace-otlp-http@0.223
// The usual variables apply, such as OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_TRACES_SAMPLER.
import process from 'node:process';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { NodeSDK } from '@opentelemetry/sdk-node';

process.env.OTEL_SERVICE_NAME ??= 'chains-and-tokens-gateway';
// The gateway has metrics and a log of its own.
process.env.OTEL_METRICS_EXPORTER ??= 'none';
process.env.OTEL_LOGS_EXPORTER ??= 'none';

const sdk = new NodeSDK({ traceExporter: new OTLPTraceExporter(), instrumentations: [] });
sdk.start();
// Spans are exported every five seconds, and for the last time a second after SIGTERM, when the gateway still runs.
// Spans that end later are lost.
process.once('SIGTERM', () => setTimeout(() => sdk.shutdown().catch(() => {}), 1_000).unref());
