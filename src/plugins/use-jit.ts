import {
  BREAK,
  type DocumentNode,
  type GraphQLSchema,
  getNullableType,
  getOperationAST,
  getVariableValues,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import type { Plugin } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';

/** Compiled operations that are kept; each takes some tens of kilobytes. */
const MAX_COMPILED = 200;

type Jit = Pick<typeof import('graphql-jit'), 'compileQuery' | 'isCompiledQuery'>;

/** One operation of a document: how often it was asked, and, once that pays, compiled. */
interface Known {
  asked: number;
  /** Null where it cannot be compiled. */
  compiled?: CompiledQuery | null;
}

/**
 * Runs operations that are asked more than once as compiled code, which is some ten times faster, and those for
 * all tokens from the first time on, since they gain more than compiling costs. All else is executed by
 * graphql-js: what the compiler does not take, what it would answer differently, and what has bad variables,
 * whose messages are the ones that clients know.
 */
export function useJit(): Plugin {
  // A document is one object as long as the parser's cache has it.
  const known = new LRUCache<DocumentNode, Map<string, Known>>({ max: MAX_COMPILED });
  let jit: Jit | undefined;

  /** Not before it is needed: it would take a tenth of the time in which a gateway starts. */
  async function load(): Promise<void> {
    jit = await import('graphql-jit');
  }

  function compiledOf(
    schema: GraphQLSchema,
    document: DocumentNode,
    node: OperationDefinitionNode,
    name: string | null | undefined,
  ) {
    const operations = known.get(document) ?? new Map<string, Known>();
    known.set(document, operations);
    const operation = operations.get(name ?? '') ?? { asked: 0 };
    operations.set(name ?? '', operation);
    operation.asked++;
    if (operation.compiled === undefined && (operation.asked > 1 || isForAllTokens(node))) {
      if (jit) operation.compiled = compile(jit, schema, document, name ?? undefined);
      else load();
    }
    return operation.compiled;
  }

  return {
    onExecute({ args, setExecuteFn }) {
      const { schema, document, operationName, variableValues } = args;
      const operation = getOperationAST(document, operationName);
      if (operation?.operation !== 'query') return;
      const compiled = compiledOf(schema, document, operation, operationName);
      if (!compiled || hasNullForDefault(operation, variableValues ?? {})) return;
      const variables = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {});
      if (variables.errors) return;
      setExecuteFn(() => compiled.query(args.rootValue, args.contextValue, variableValues ?? {}));
    },
  };
}

/** Whether it asks for every token there is. */
function isForAllTokens({ selectionSet }: OperationDefinitionNode): boolean {
  return selectionSet.selections.some(
    (selection) =>
      selection.kind === Kind.FIELD &&
      selection.name.value === 'tokens' &&
      (selection.arguments ?? []).length === 0,
  );
}

/** Whether null is given for a variable with a default: compiled code refuses it for the whole operation. */
function hasNullForDefault(
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Readonly<Record<string, unknown>>,
): boolean {
  return variableDefinitions.some(
    ({ variable, defaultValue }) => defaultValue && given[variable.name.value] === null,
  );
}

function compile(
  { compileQuery, isCompiledQuery }: Jit,
  schema: GraphQLSchema,
  document: DocumentNode,
  name: string | undefined,
): CompiledQuery | null {
  if (!isForCompiler(schema, document)) return null;
  const compiled = compileQuery(schema, document, name, {
    customJSONSerializer: false,
    disablingCapturingStackErrors: true,
  });
  return isCompiledQuery(compiled) ? compiled : null;
}

/**
 * The compiler writes strings into its code, and runs what follows certain marks in them: so that none of
 * these can come, underscores and all but the most usual letters are left to graphql-js.
 */
const HARMLESS = /^[a-z0-9 .:/-]*$/i;

/**
 * Whether the compiler can be trusted with the document. It cannot with
 * - a string with other than harmless letters;
 * - directives: whether one field of a fragment is shown would decide it for all places that use the fragment;
 * - names that every object has, such as `constructor`: as aliases or variables they are lost or mistaken;
 * - a list whose items can fail one by one: the nulls of those that fail come at its end, so that what
 *   follows them would stand in for another.
 */
function isForCompiler(schema: GraphQLSchema, document: DocumentNode): boolean {
  const types = new TypeInfo(schema);
  let isTrusted = true;
  const refuse = () => {
    isTrusted = false;
    return BREAK;
  };
  visit(
    document,
    visitWithTypeInfo(types, {
      StringValue: ({ value }) => (HARMLESS.test(value) ? undefined : refuse()),
      Directive: refuse,
      Name: ({ value }) => (value in Object.prototype ? refuse() : undefined),
      Field() {
        const type = types.getType();
        const list = type && getNullableType(type);
        return isListType(list) && !isNonNullType(list.ofType) ? refuse() : undefined;
      },
    }),
  );
  return isTrusted;
}
