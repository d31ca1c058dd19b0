/** Executes operations by graphql-js alone, to compare with the answers of a gateway. */
import { execute, getOperationAST, getVariableValues, parse, validate } from 'graphql';
import { fragmentsOf } from '../../src/execution/documents.js';
import { createContext, type GatewayContext } from '../../src/graph/context.js';
import { withFederation } from '../../src/graph/federation/federated.js';
import type { Loaders } from '../../src/graph/loaders.js';
import { schema as ownSchema } from '../../src/graph/schema/index.js';
import type { Operation } from '../support/generated-operations.js';
import { createTestLog, defaultConfig, type Settings, type TestGateway } from '../support/test-gateway.js';

/** @returns a function that makes the context of an operation over the snapshots of a gateway, without limits on cost */
export async function createContexts({ snapshots }: Pick<TestGateway, 'snapshots'>, config: Settings = {}) {
  const { log } = await createTestLog();
  const limits = { maxCost: 1e9, maxRows: 1e7 };
  const parts = { snapshots, metrics: { waited() {} }, waiting: new Set<Loaders>(), log };
  const options = { ...defaultConfig(), ...config, ...limits, ...parts };
  return () => createContext(options, { client: undefined, yieldToQueue: async () => {} });
}

/** Executes without limits on cost. The returned function returns undefined for an invalid document. */
export async function createExecutor(
  gateway: Pick<TestGateway, 'snapshots'>,
  config: Settings = {},
  schema = withFederation(ownSchema),
) {
  const begin = await createContexts(gateway, config);
  return async (
    { query, variables, operationName }: Partial<Operation> & Pick<Operation, 'query'>,
    prepare: (context: GatewayContext) => void = () => {},
  ) => {
    const document = parse(query);
    const operation = getOperationAST(document, operationName);
    if (!operation || validate(schema, document).length > 0) return undefined;
    const context = begin();
    prepare(context);
    const variableValues = { ...variables };
    const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues);
    const charged = { schema, fragments: fragmentsOf(document), operation, tokenCount: document.tokenCount };
    if (coerced) context.cost.chargeOperation({ ...charged, variables: coerced });
    const result = await execute({ schema, document, variableValues, operationName, contextValue: context });
    return { ...result, context };
  };
}
