import { type GraphQLSchema, Kind, type OperationDefinitionNode, parse } from 'graphql';
import { dataSchema, type ObjectSchema, variablesSchema } from './json-schemas.js';
import type { Tool } from './tools.js';

/** An operation of the gateway itself. */
export interface OwnOperation {
  readonly query: string;
  readonly operationName: string;
  /** As a client gave them: they are checked like those of any request. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Executes an operation as a request for it would be executed. Returns the JSON of its response. */
export type ExecuteOwn = (operation: OwnOperation) => Promise<string>;

/** The result of a tool in the form of the protocol. */
export type ToolResult = {
  readonly content: { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: true;
};

/** A tool with everything that follows from its document. */
export interface PreparedTool extends Tool {
  readonly operationName: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema: ObjectSchema;
}

interface GraphResponse {
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors?: readonly GraphError[];
}

interface GraphError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string };
}

/** A longer text of the client, or a message that repeats one, is cut. */
const MAX_SHOWN = 300;
const MAX_ERRORS = 5;
/** In characters. A result holds it twice, as text and as a structure, and no agent can use as much. */
const MAX_RESULT_LENGTH = 4_194_304;

/**
 * Derives the schemas of a tool.
 *
 * @throws TypeError if its document is not one query with a name; GraphQLError if it cannot be parsed
 */
export function prepareTool(schema: GraphQLSchema, tool: Tool): PreparedTool {
  const operation = operationIn(tool);
  return {
    ...tool,
    operationName: operation.name?.value ?? '',
    inputSchema: variablesSchema(schema, operation),
    outputSchema: dataSchema(schema, operation),
  };
}

function operationIn({ name, document }: Tool): OperationDefinitionNode {
  const [operation, ...others] = parse(document, { noLocation: true }).definitions;
  if (operation?.kind === Kind.OPERATION_DEFINITION && operation.name && others.length === 0)
    return operation;
  throw new TypeError(`${name}: expected one query with a name`);
}

/**
 * Executes the operation of a tool. Whatever went wrong is a result that the agent can read, never a rejection.
 *
 * @param given the arguments as the client sent them
 */
export async function callTool(
  tool: PreparedTool,
  given: Readonly<Record<string, unknown>>,
  execute: ExecuteOwn,
): Promise<ToolResult> {
  const { document: query, operationName, inputSchema } = tool;
  const known = Object.keys(inputSchema.properties);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const expected = known.length > 0 ? `only ${known.join(', ')}` : 'no arguments';
    const message = `Expected ${expected}, got ${JSON.stringify(shortened(unknown))}.`;
    return errorResult({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' } }] });
  }
  const json = await execute({ query, operationName, variables: given });
  if (json.length > MAX_RESULT_LENGTH) {
    const message = `Expected a result of at most ${MAX_RESULT_LENGTH} characters, got ${json.length}. Ask for less at a time.`;
    return errorResult({ errors: [{ message, extensions: { code: 'LIMIT_EXCEEDED' } }] });
  }
  const response = JSON.parse(json) as GraphResponse;
  if (response.errors || !response.data) return errorResult(response);
  const { data } = response;
  // As text, too, for clients that do not read structured results.
  return { content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data };
}

/** The codes of the errors of a result. */
export function codesIn({ isError, content }: ToolResult): readonly string[] {
  if (!isError) return [];
  const { errors } = JSON.parse(content[0]?.text ?? '{}') as { errors: readonly { code: string }[] };
  return [...new Set(errors.map(({ code }) => code))];
}

/** What there is of the data is kept: if one part failed, the others may be what the agent needs. */
function errorResult({ data, errors = [] }: GraphResponse): ToolResult {
  const shown = errors.slice(0, MAX_ERRORS).map(({ message, path, extensions }) => ({
    code: extensions?.code ?? 'INTERNAL_SERVER_ERROR',
    message: shortened(message.replace('Variable "$', 'Argument "')),
    ...(path ? { path } : {}),
  }));
  const text = JSON.stringify(data ? { errors: shown, data } : { errors: shown });
  return { content: [{ type: 'text', text }], isError: true };
}

function shortened(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
