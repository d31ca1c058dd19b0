import { hash } from 'node:crypto';
import fc from 'fast-check';
import {
  type ExecutionResult,
  execute,
  getOperationAST,
  getVariableValues,
  isObjectType,
  parse,
} from 'graphql';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { GatewayContext } from '../../src/graph/context.js';
import { withFederation } from '../../src/graph/federation/federated.js';
import { schema as ownSchema } from '../../src/graph/schema/index.js';
import { CHAINS, TOKENS } from '../../src/upstream/listing-kinds.js';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { type Operation, operationsOf } from '../support/generated-operations.js';
import { collectUnhandledRejections } from '../support/unhandled-rejections.js';
import { createContexts } from './support/gateway-context.js';
import { ODD_VALUES } from './support/odd-values.js';
import { createWriter } from './support/writer.js';

/** Multiplies the number of operations, for longer runs. */
const TIMES = Number(process.env.DIFFERENTIAL_TIMES ?? 1);

/** How many of a hundred values are odd, and a number that decides which. Equal for all executions of an operation. */
let world = { odd: 0, luck: 0 };

/** Names in a document that have a meaning in JavaScript. */
const ALIASES = ['then', 'toJSON', '__proto__', 'constructor'];
/** Fields that are read from rows without a resolver, and that no resolver reads. */
const OF_ROWS = ['name', 'symbol', 'decimals', 'logoUrl', 'shortName'];

/** The gateway's schema, of which some resolvers return odd values, or rows with an odd value. */
const schema = withFederation(ownSchema);
for (const type of Object.values(schema.getTypeMap())) {
  if (!isObjectType(type) || type.name.startsWith('__')) continue;
  for (const field of Object.values(type.getFields())) {
    const { resolve } = field;
    if (!resolve) continue;
    field.resolve = (source, ...others) =>
      oddly(resolve(source, ...others), `${type.name}.${field.name} ${keyOf(source)}`);
  }
}

function oddly(value: unknown, key: string): unknown {
  if (world.odd === 0 || value instanceof Promise) return value;
  const dice = Number.parseInt(hash('sha1', `${key} ${world.luck}`).slice(0, 7), 16);
  if (dice % 100 >= world.odd) return value;
  const makeOdd = ODD_VALUES[(dice >> 7) % ODD_VALUES.length] as (usual: unknown) => unknown;
  if (dice % 3 === 0 || typeof value !== 'object' || value === null) return makeOdd(value);
  if (Array.isArray(value)) return value.toSpliced((dice >> 3) % (value.length + 1), 1, makeOdd(value[0]));
  const name = OF_ROWS[(dice >> 3) % OF_ROWS.length] ?? '';
  const usual = (value as Readonly<Record<string, unknown>>)[name];
  const row = Object.defineProperty({ ...value }, name, { enumerable: true, get: () => makeOdd(usual) });
  return dice % 2 === 0 ? Object.freeze(row) : row;
}

/** Tells rows apart. */
function keyOf(source: unknown): string {
  const { chainKey, address } = (source ?? {}) as { chainKey?: string; address?: string };
  return `${chainKey} ${address}`;
}

let createContext: () => GatewayContext;
beforeAll(async () => {
  const origin = { source: 'demo', takenAt: 1_700_000_000_000 };
  const [chains, tokens] = [await CHAINS.parse(demoChains, origin), await TOKENS.parse(demoTokens, origin)];
  createContext = await createContexts(chains, tokens);
});

/** Counts the outcomes of operations, so that a test can check that not all were refused. */
let counts: Record<string, number> = {};
function count(name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

/** The response of graphql-js as JSON; undefined for errors, promises, and values without a JSON form. */
async function expected(result: ExecutionResult | Promise<ExecutionResult>): Promise<string | undefined> {
  if (result instanceof Promise) {
    await result;
    return undefined;
  }
  if (result.errors) return undefined;
  try {
    return JSON.stringify(result);
  } catch {
    return undefined;
  }
}

/** Makes a writer of an operation. Its variables are undefined if they are invalid. */
function prepare(generated: Operation) {
  const { query, variables, operationName = null } = generated;
  const document = parse(query);
  const writer = createWriter(schema, document, { operationName });
  const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
  const { coerced } = getVariableValues(schema, definitions, variables);
  const own = writer.coerce(variables);
  expect(own).toStrictEqual(coerced);
  expect(JSON.stringify(own)).toBe(JSON.stringify(coerced));
  return { document, writer, coerced };
}

async function compare(generated: Operation): Promise<void> {
  const { document, writer, coerced } = prepare(generated);
  const { variables: variableValues, operationName = null } = generated;
  if (!coerced) return count('bad variables');
  for (let nth = 0; nth < 3; nth++) {
    const [ownContext, contextValue] = [createContext(), createContext()];
    const written = writer.write(ownContext, coerced);
    const args = { schema, document, operationName, contextValue, variableValues };
    const wanted = await expected(execute(args) as ExecutionResult);
    if (written === undefined) count(wanted === undefined ? 'left with reason' : 'left without need');
    else {
      // The number identifies the execution that differs.
      expect(`${nth} ${Buffer.concat(written)}`).toBe(`${nth} ${wanted}`);
      expect(ownContext.tracker.reads).toEqual(contextValue.tracker.reads);
      expect(ownContext.cost.spent).toEqual(contextValue.cost.spent);
      count('written');
    }
  }
}

describe('the writer', () => {
  it.each([
    ['with usual values', 0, 200],
    ['with some odd values', 2, 200],
    ['with many odd values', 25, 200],
  ])('answers as graphql-js or not at all, %s', async (name, odd, runs) => {
    counts = {};
    // graphql-js itself leaves some rejections unhandled, in lists that also have errors.
    const unhandled = collectUnhandledRejections();
    const operations = operationsOf({ hasRoutes: true, aliases: ALIASES });
    await fc.assert(
      fc.asyncProperty(operations, fc.integer(), async (operation, luck) => {
        world = { odd, luck };
        await compare(operation);
      }),
      // Shrinking takes minutes.
      { numRuns: runs * TIMES, endOnFailure: true },
    );
    if (process.env.DIFFERENTIAL_TIMES) process.stdout.write(`${name}: ${JSON.stringify(counts)}\n`);
    expect(counts.written).toBeGreaterThan(runs / 10);
    if (odd === 0) expect(counts['left without need']).toBeUndefined();
    await unhandled();
  });

  it('leaves no rejection unhandled', async () => {
    const unhandled = collectUnhandledRejections();
    const rejections = vi.spyOn(Promise, 'reject');
    fc.assert(
      fc.property(operationsOf(), fc.integer(), (operation, luck) => {
        world = { odd: 25, luck };
        const { writer, coerced } = prepare(operation);
        if (coerced) writer.write(createContext(), coerced);
      }),
      { numRuns: 300 * TIMES, endOnFailure: true },
    );
    expect(await unhandled()).toEqual([]);
    expect(rejections.mock.calls.length).toBeGreaterThan(0);
    rejections.mockRestore();
  });
});
