/** Prepares the tools for agents, and executes their operations. */
import { type GraphQLSchema, type OperationDefinitionNode, parse, print, visit } from 'graphql';
import type { ErrorCode } from '../domain/error-codes.js';
import { shown } from '../domain/text-limits.js';
import type { RequestParameters } from '../execution/operation-writer.js';
import { dataSchema, type ObjectSchema, variablesSchema } from './json-schemas.js';
import type { Tool } from './tools.js';

/** Executes an operation as if a client had requested it. Resolves with the JSON of the response. */
export type ExecuteOperation = (operation: RequestParameters) => Promise<string>;

export interface PreparedTool extends Omit<Tool, 'document'> {
  /** The name of its operation in the log. */
  readonly operation: string;
  readonly inputSchema: ObjectSchema;
  /** Undefined if the form of the result depends on the arguments. */
  readonly outputSchema?: ObjectSchema;
  operationOf(given: Readonly<Record<string, unknown>>): RequestParameters;
  /** Rewrites an error message of the graph in the terms of the tool. */
  reworded(message: string): string;
}

interface GraphResponse {
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors?: readonly {
    readonly message: string;
    readonly path?: readonly (string | number)[];
    readonly extensions?: { readonly code?: string };
  }[];
}

/** Error messages are cut to this many characters. */
const MAX_MESSAGE = 300;
/** A result names at most this many errors: further ones rarely help an agent. */
const MAX_ERRORS = 5;
/** Data with more characters is refused: a result has the data twice, as text and as a structure. */
const MAX_RESULT_LENGTH = 4_194_304;

/** Derives the schemas of a tool from its document. */
export function prepareTool(schema: GraphQLSchema, { document: query, ...tool }: Tool): PreparedTool {
  const [node] = parse(query, { noLocation: true }).definitions as [OperationDefinitionNode];
  const operation = node.name?.value ?? '';
  return {
    ...tool,
    operation,
    inputSchema: variablesSchema(schema, node),
    outputSchema: dataSchema(schema, node),
    operationOf: (variables) => ({ query, operationName: operation, variables }),
    reworded: (message) => message.replace('Variable "$', 'Argument "'),
  };
}

/** The tool for queries that the other tools do not cover. */
export function queryTool(sdl: string): PreparedTool {
  const withoutDescriptions = visit(parse(sdl, { noLocation: true }), {
    enter: (node) => ('description' in node ? { ...node, description: undefined } : undefined),
  });
  return {
    name: 'query',
    title: 'Query the graph',
    description: `Answers one query of the GraphQL schema below. Use it for what the other tools do not select or combine; introspection tells what each field means. Select listings { state ageSeconds } to learn how old the data is, and heldBack wherever amounts matter.\n\n${print(withoutDescriptions)}`,
    operation: 'Query',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'A GraphQL document with one query.' },
        variables: { type: 'object', description: 'The values of its variables, by name.' },
      },
      required: ['query'],
      additionalProperties: false,
    },
    operationOf: ({ query, variables }) => ({ query, variables }),
    reworded: (message) => message,
  };
}

/** An error becomes a result of the tool, not an error of the protocol, so that the agent can read it. */
export async function callTool(
  tool: PreparedTool,
  given: Readonly<Record<string, unknown>>,
  execute: ExecuteOperation,
) {
  const refused = (code: ErrorCode, message: string) =>
    errorResult(tool, { errors: [{ message, extensions: { code } }] });
  const known = Object.keys(tool.inputSchema.properties);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const expected = known.length > 0 ? `only ${known.join(', ')}` : 'no arguments';
    return refused('BAD_USER_INPUT', `Expected ${expected}, got ${shown(unknown)}.`);
  }
  const json = await execute(tool.operationOf(given));
  if (json.length > MAX_RESULT_LENGTH) {
    const message = `Expected a result of at most ${MAX_RESULT_LENGTH} characters, got ${json.length}. Ask for less at a time.`;
    return refused('LIMIT_EXCEEDED', message);
  }
  const response = JSON.parse(json) as GraphResponse;
  if (response.errors || !response.data) return errorResult(tool, response);
  const { data } = response;
  // The data is also sent as text, for clients that do not read structured results.
  return { result: { content: textContent(data), structuredContent: data }, codes: [] };
}

const textContent = (data: object) => [{ type: 'text' as const, text: JSON.stringify(data) }];

/** A result with errors. It includes the data of the parts that succeeded, which may be enough for the agent. */
function errorResult(tool: PreparedTool, { data, errors = [] }: GraphResponse) {
  const shown = errors.slice(0, MAX_ERRORS).map(({ message, path, extensions }) => ({
    code: extensions?.code ?? 'INTERNAL_SERVER_ERROR',
    message: tool.reworded(message).slice(0, MAX_MESSAGE),
    ...(path ? { path } : {}),
  }));
  const content = textContent(data ? { errors: shown, data } : { errors: shown });
  return { result: { content, isError: true }, codes: [...new Set(shown.map(({ code }) => code))] };
}
