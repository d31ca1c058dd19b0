/** Serves the tools for agents at `/mcp`. */
import { closeSync, openSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Server } from '@modelcontextprotocol/server';
import type { GraphQLSchema } from 'graphql';
import { object, optional, record, string, unknown } from 'valibot';
import type { Config } from '../config/config.js';
import { createPartCheck } from '../domain/json-parts.js';
import { shown } from '../domain/text-limits.js';
import { type CorsOrigins, isForeignOrigin } from '../http/headers.js';
import { isJsonType } from '../http/operations.js';
import { type PlainResponse, plainRefusal, type Refusal } from '../http/refusal.js';
import type { Logger } from '../logger/logger.js';
import { VERSION } from '../observability/version.js';
import { callTool, type ExecuteOperation, prepareTool, queryTool } from './call-tool.js';
import { INSTRUCTIONS, TOOLS } from './tools.js';

interface McpOptions extends Config {
  readonly schema: GraphQLSchema;
  /** Makes the schema as text, for the description of the tool `query`. */
  readonly sdl: () => string;
  readonly log: Logger;
}

/** An out-parameter: the operation of the called tool and the distinct codes of its errors, for the log. */
interface ToolFacts {
  operation?: string;
  codes?: readonly string[];
}

/** Agents may cache the list of tools for an hour: it depends only on version and settings of the gateway. */
const CACHED = { ttlMs: 3_600_000, cacheScope: 'public' } as const;

const CallParams = object({ name: string(), arguments: optional(record(string(), unknown())) });
const ListParams = object({});

/** The package uses a validator only if the server asks the user something (elicitation), which this server never does. */
const NO_VALIDATOR = {
  getValidator(): never {
    throw new TypeError('Expected no schema to validate');
  },
};

type Protocol = typeof import('@modelcontextprotocol/server');

const require = createRequire(import.meta.url);
const PACKAGE = require.resolve('@modelcontextprotocol/server');

/**
 * Loads the package of the protocol, which takes 20 MB of memory. `require` opens one file after another; import() would
 * open a hundred at once. The file is opened before: if no file handle is free, this fails, and a later call can
 * succeed. Node would remember a failure of `require`.
 */
function loadProtocol(): Protocol {
  closeSync(openSync(PACKAGE, 'r'));
  return require(PACKAGE) as Protocol;
}

const HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };

/** The first message loads the package of the protocol, and derives the tools from the graph. */
export function createMcp(options: McpOptions) {
  let handler: ReturnType<typeof createHandler> | undefined;
  return async (request: Request, execute: ExecuteOperation, facts: ToolFacts): Promise<PlainResponse> => {
    const refusal = refusalOf(request, options.corsOrigins);
    if (refusal) return plainRefusal(refusal);
    const message = messageIn(await request.text());
    if (typeof message === 'string') return { status: 400, headers: HEADERS, body: message };
    handler ??= createHandler(options, loadProtocol());
    const response = await handler(request, message, execute, facts);
    // It stays bytes: decoding and encoding a long text would take as long as the operation.
    const bytes = new Uint8Array(await response.arrayBuffer());
    const headers = { ...Object.fromEntries(response.headers), 'cache-control': 'no-store' };
    return { status: response.status, headers, body: bytes.byteLength > 0 ? bytes : null };
  };
}

function createHandler(options: McpOptions, protocol: Protocol) {
  const { schema, introspection, trustedDocumentsOnly, log } = options;
  const { createMcpHandler, isLegacyRequest, ProtocolError, ProtocolErrorCode } = protocol;
  const tools = TOOLS.map((tool) => prepareTool(schema, tool));
  // The tool `query` shows the schema. It is offered if clients may read the schema and send any document.
  if (introspection && !trustedDocumentsOnly) tools.push(queryTool(options.sdl()));
  const listed = tools.map(({ operation, operationOf, reworded, ...tool }) => ({
    ...tool,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  }));

  function createServer(execute: ExecuteOperation, facts: ToolFacts): Server {
    const server = new protocol.Server(
      { name: 'chains-and-tokens-gateway', title: 'Chains and tokens', version: VERSION },
      {
        capabilities: { tools: {} },
        instructions: INSTRUCTIONS,
        jsonSchemaValidator: NO_VALIDATOR,
        cacheHints: { 'tools/list': CACHED, 'server/discover': CACHED },
      },
    );
    server.setRequestHandler('tools/list', { params: ListParams }, () => ({ tools: listed }));
    server.setRequestHandler('tools/call', { params: CallParams }, async (params) => {
      // For the log and the metrics, if the call throws. Replaced when there is a result.
      facts.codes = ['BAD_USER_INPUT'];
      const tool = tools.find(({ name }) => name === params.name);
      if (!tool) {
        const message = `Expected one of the tools ${tools.map(({ name }) => name).join(', ')}, got ${shown(params.name)}.`;
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
      }
      facts.operation = tool.operation;
      const { result, codes } = await callTool(tool, params.arguments ?? {}, execute);
      facts.codes = codes;
      return result;
    });
    return server;
  }

  /** Responds to clients of the revisions before 2026-07-28: in JSON, even if the client accepts an event stream. */
  async function respondLegacy({ url, headers, signal }: Request, message: unknown, server: Server) {
    const transport = new protocol.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    try {
      // The transport requires that the client accepts both types, whichever type the transport sends.
      const accepting = { ...Object.fromEntries(headers), accept: 'application/json, text/event-stream' };
      const request = new Request(url, { method: 'POST', headers: accepting, signal });
      return await transport.handleRequest(request, { parsedBody: message });
    } finally {
      await server.close();
    }
  }

  /** @param message the parsed body of the request; not an array */
  return async (request: Request, message: unknown, execute: ExecuteOperation, facts: ToolFacts) => {
    const server = createServer(execute, facts);
    if (await isLegacyRequest(request, message)) return respondLegacy(request, message, server);
    const handler = createMcpHandler(() => server, {
      legacy: 'reject',
      // Called for refused messages and internal errors; not for messages of revisions before 2026-07-28.
      onerror: (err) => log.debug({ err }, 'A message to /mcp was refused or has failed'),
      // A subscription would keep a connection open, and this server does not report changes.
      maxSubscriptions: 0,
      keepAliveMs: 0,
    });
    return handler.fetch(request, { parsedBody: message });
  };
}

/**
 * Messages need about five levels, and 500 items in a list. Without limits, recursive functions such as JSON.stringify
 * could exhaust the stack, and a check against a schema takes a microsecond or more for each value.
 */
const LIMITS = { containers: 5_000, commas: 5_000, names: 5_000, levels: 64 };
/** Error codes of JSON-RPC 2.0. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

function refusalOf({ method, headers }: Request, corsOrigins: CorsOrigins): Refusal | undefined {
  if (method !== 'POST') {
    const message = `Expected POST with a message of the Model Context Protocol, got ${method}.`;
    return { status: 405, message, headers: { allow: 'POST, OPTIONS' } };
  }
  const origin = headers.get('origin');
  if (isForeignOrigin(corsOrigins, origin)) {
    const message = `Expected no Origin header, as programs send none, or an origin that this gateway allows (CORS_ORIGINS), got ${shown(origin ?? '')}.`;
    return { status: 403, message };
  }
  const type = headers.get('content-type') ?? '';
  if (isJsonType(type)) return undefined;
  const message = `Expected the Content-Type application/json, got ${type ? shown(type) : 'none'}.`;
  return { status: 415, message };
}

/** The message in a body; or the body of the response to a text that is no message. */
function messageIn(text: string): object | string {
  const exceeded = createPartCheck(LIMITS)(Buffer.from(text));
  if (exceeded) return rpcError(INVALID_REQUEST, `Expected JSON of at most ${exceeded}, got more.`);
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    const got = text ? shown(text) : 'nothing';
    const expected = `Expected a JSON-RPC message, such as {"jsonrpc":"2.0","id":1,"method":"tools/list"}, got ${got}.`;
    return rpcError(PARSE_ERROR, expected);
  }
  if (typeof message === 'object' && message !== null && !Array.isArray(message)) return message;
  // Batches are no longer part of the protocol. One request with a batch could cost as much as thousands of requests.
  const other = typeof message === 'string' ? shown(message) : String(message);
  const got = Array.isArray(message) ? `an array of ${message.length}` : other;
  return rpcError(INVALID_REQUEST, `Expected one JSON-RPC message, which is an object, got ${got}.`);
}

function rpcError(code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code, message } });
}
