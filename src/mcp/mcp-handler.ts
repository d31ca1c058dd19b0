import type { Server } from '@modelcontextprotocol/server';
import type { GraphQLSchema } from 'graphql';
import { object, optional, record, string, unknown } from 'valibot';
import { callTool, codesIn, type ExecuteOwn, type PreparedTool, prepareTool } from './call-tool.js';
import { loadProtocol, type Protocol } from './load-protocol.js';
import { INSTRUCTIONS, TOOLS } from './tools.js';

export interface McpOptions {
  readonly schema: GraphQLSchema;
  /** Of the gateway. */
  readonly version: string;
  /** Learns of requests that the protocol refuses, and of internal errors. */
  readonly onError: (error: Error) => void;
}

/** An out-parameter: what the log says of a request. */
export interface ToolFacts {
  /** The operation of the tool that was called. */
  operation?: string;
  /** The distinct codes of its errors. */
  codes?: readonly string[];
}

/**
 * Answers one message of the Model Context Protocol, in the revision that the client speaks. Nothing is remembered
 * between two requests.
 *
 * @param request its body is not read
 * @param message the body, parsed; not an array
 */
export type McpHandler = (
  request: Request,
  message: unknown,
  execute: ExecuteOwn,
  facts: ToolFacts,
) => Promise<Response>;

/** Agents may remember the list of tools for so long, in milliseconds. It changes with the version only. */
const LIST_TTL_MS = 3_600_000;
const CACHED = { ttlMs: LIST_TTL_MS, cacheScope: 'public' } as const;

const CallParams = object({ name: string(), arguments: optional(record(string(), unknown())) });
const ListParams = object({});
const MAX_SHOWN = 100;

/** Only what is asked of a person is validated by this package itself, and nobody is asked here. */
const NO_VALIDATOR = {
  getValidator(): never {
    throw new TypeError('Expected no schema to validate');
  },
};

/** Makes the handler. The first message loads the package of the protocol, and derives the tools from the graph. */
export function createMcp(options: McpOptions): McpHandler {
  let handler: McpHandler | undefined;
  return async (...asked) => {
    handler ??= createHandler(options, loadProtocol());
    return handler(...asked);
  };
}

function createHandler({ schema, version, onError }: McpOptions, protocol: Protocol): McpHandler {
  const { createMcpHandler, isLegacyRequest, ProtocolError, ProtocolErrorCode } = protocol;
  const tools: ReadonlyMap<string, PreparedTool> = new Map(
    TOOLS.map((tool) => [tool.name, prepareTool(schema, tool)]),
  );
  const listed = [...tools.values()].map(({ name, title, description, inputSchema, outputSchema }) => ({
    name,
    title,
    description,
    inputSchema,
    outputSchema,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  }));

  function toolNamed(name: string): PreparedTool {
    const tool = tools.get(name);
    if (tool) return tool;
    const shown = JSON.stringify(name.slice(0, MAX_SHOWN));
    const message = `Expected one of the tools ${[...tools.keys()].join(', ')}, got ${shown}.`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }

  function createServer(execute: ExecuteOwn, facts: ToolFacts): Server {
    const server = new protocol.Server(
      { name: 'chains-and-tokens-gateway', title: 'Chains and tokens', version },
      {
        capabilities: { tools: {} },
        instructions: INSTRUCTIONS,
        jsonSchemaValidator: NO_VALIDATOR,
        cacheHints: { 'tools/list': CACHED, 'server/discover': CACHED },
      },
    );
    server.setRequestHandler('tools/list', { params: ListParams }, () => ({ tools: listed }));
    server.setRequestHandler('tools/call', { params: CallParams }, async (params) => {
      // Unless the call ends otherwise.
      facts.codes = ['BAD_USER_INPUT'];
      const tool = toolNamed(params.name);
      facts.operation = tool.operationName;
      const result = await callTool(tool, params.arguments ?? {}, execute);
      facts.codes = codesIn(result);
      return result;
    });
    return server;
  }

  /** A client of the revisions before 2026-07-28. The answer is JSON, also where the client accepts an event stream. */
  async function answerLegacy(
    { url, headers, signal }: Request,
    message: unknown,
    server: Server,
  ): Promise<Response> {
    const transport = new protocol.WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    try {
      // The transport insists on both types, whichever it then sends.
      const accepting = { ...Object.fromEntries(headers), accept: 'application/json, text/event-stream' };
      const request = new Request(url, { method: 'POST', headers: accepting, signal });
      return await transport.handleRequest(request, { parsedBody: message });
    } finally {
      await server.close();
    }
  }

  return async (request, message, execute, facts) => {
    const server = createServer(execute, facts);
    if (await isLegacyRequest(request, message)) return answerLegacy(request, message, server);
    const handler = createMcpHandler(() => server, {
      legacy: 'reject',
      onerror: onError,
      // A subscription would be a connection that stays open, and nothing here tells of changes.
      maxSubscriptions: 0,
      keepAliveMs: 0,
    });
    return handler.fetch(request, { parsedBody: message });
  };
}
