import fc from 'fast-check';
import { type ExecutionResult, execute, getOperationAST, getVariableValues, parse, validate } from 'graphql';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { withFederation } from '../../src/graph/federation/federated.js';
import { schema as ownSchema } from '../../src/graph/schema/index.js';
import { CHAINS, TOKENS } from '../../src/upstream/listing-kinds.js';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { type Operation, operationsOf } from '../support/generated-operations.js';
import { createContexts } from './support/gateway-context.js';
import { hostileGraph, schema } from './support/hostile-graph.js';
import { enterWorld, type World } from './support/hostile-values.js';
import { createWriter } from './support/writer.js';

/** Multiplies the number of operations, for longer runs. */
const TIMES = Number(process.env.DIFFERENTIAL_TIMES ?? 1);

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
let others: readonly NodeJS.UnhandledRejectionListener[] = [];
beforeAll(() => {
  // graphql-js itself leaves rejections unhandled in lists that have errors, too; vitest would report them.
  others = process.listeners('unhandledRejection');
  process.removeAllListeners('unhandledRejection');
  process.on('unhandledRejection', note);
});
afterAll(() => {
  process.off('unhandledRejection', note);
  for (const other of others) process.on('unhandledRejection', other);
});

/** Counts the outcomes of operations, so that a test can check that not all were refused. */
const counts: Record<string, number> = {};
function count(name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}

function resetCounts(): void {
  for (const key of Object.keys(counts)) delete counts[key];
}

function report(name: string): void {
  if (process.env.DIFFERENTIAL_TIMES) process.stdout.write(`${name}: ${JSON.stringify(counts)}\n`);
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

/** Cases that the writer intentionally leaves to graphql-js: resolvers that read `path`, and scalars that are objects. */
const LEFT_TO_GRAPHQL = /\b(path|spoil|echo|tricks)\b/;

const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Makes a writer of an operation, or returns the reason why there is none. */
function prepare({ query, variables, operationName }: Operation) {
  const document = parse(query, { noLocation: true });
  if (validate(schema, document).length > 0) return 'not valid';
  const writer = createWriter(schema, document, { operationName: operationName ?? null });
  const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
  const { coerced: wanted } = getVariableValues(schema, definitions, structuredClone(variables));
  // Made for each execution, since resolvers may change them.
  const coerced = () => writer.coerce(structuredClone(variables));
  expect(coerced()).toStrictEqual(wanted);
  expect(JSON.stringify(coerced())).toBe(JSON.stringify(wanted));
  return wanted ? { document, coerced, writer } : 'bad variables';
}

async function compare(operation: Operation, world: Omit<World, 'stamp'>) {
  const prepared = prepare(operation);
  if (typeof prepared === 'string') return count(prepared);
  const { document, coerced, writer } = prepared;
  const { query, variables, operationName = null } = operation;
  for (let stamp = 0; stamp < 3; stamp++) {
    const contextValue = { ...world, stamp };
    enterWorld(contextValue);
    const written = writer.write(contextValue, coerced());
    const wanted = await expected(
      execute({
        schema,
        document,
        operationName,
        contextValue,
        variableValues: structuredClone(variables),
      }) as ExecutionResult,
    );
    if (written !== undefined) {
      // The number identifies the execution that differs.
      expect(`${stamp} ${Buffer.concat(written)}`).toBe(`${stamp} ${wanted}`);
      count('written');
    } else if (wanted === undefined) count('left with reason');
    else {
      if (world.evil === 0 && !LEFT_TO_GRAPHQL.test(query)) {
        throw new Error('The writer left an operation to graphql-js that has nothing odd');
      }
      count('left without need');
    }
  }
  return undefined;
}

describe('the writer', () => {
  it.each([
    ['a world without evil', { evil: 0, nulls: 10 }, 300],
    ['a world with some evil', { evil: 3, nulls: 10 }, 300],
    ['an evil world', { evil: 25, nulls: 20 }, 150],
  ])('answers as graphql-js or not at all in %s', async (name, world, runs) => {
    resetCounts();
    await fc.assert(
      fc.asyncProperty(operationsOf({ graph: hostileGraph }), fc.integer(), (operation, luck) =>
        compare(operation, { ...world, luck }),
      ),
      { numRuns: runs * TIMES },
    );
    report(name);
    expect(counts.written).toBeGreaterThan(runs / 10);
  });

  it("writes the same as graphql-js for the gateway's own graph, or falls back", async () => {
    const graph = withFederation(ownSchema);
    const origin = { source: 'demo', takenAt: 1_700_000_000_000 };
    const createContext = await createContexts(
      await CHAINS.parse(demoChains, origin),
      await TOKENS.parse(demoTokens, origin),
    );
    resetCounts();
    const runs = 200;
    await fc.assert(
      fc.asyncProperty(operationsOf({ hasRoutes: true }), async ({ query, variables, operationName }) => {
        const document = parse(query);
        const operation = getOperationAST(document, operationName);
        if (!operation) throw new Error('Expected an operation');
        const definitions = operation.variableDefinitions ?? [];
        const { coerced } = getVariableValues(graph, definitions, variables);
        const writer = createWriter(graph, document, { operationName: operationName ?? null });
        expect(writer.coerce(variables)).toStrictEqual(coerced);
        if (!coerced) return count('bad variables');
        for (let nth = 0; nth < 3; nth++) {
          const contextValue = createContext();
          const wantedContext = createContext();
          const written = writer.write(contextValue, coerced);
          const args = { schema: graph, document, operationName: operationName ?? null };
          const wanted = await expected(
            execute({ ...args, contextValue: wantedContext, variableValues: variables }) as ExecutionResult,
          );
          if (written === undefined) count(wanted === undefined ? 'left with reason' : 'without need');
          else {
            expect(Buffer.concat(written).toString()).toBe(wanted);
            expect(contextValue.tracker.reads).toEqual(wantedContext.tracker.reads);
            expect(contextValue.cost.spent).toEqual(wantedContext.cost.spent);
            count('written');
          }
        }
        return undefined;
      }),
      // Shrinking takes minutes.
      { numRuns: runs * TIMES, endOnFailure: true },
    );
    report('own graph');
    expect(counts.written).toBeGreaterThan(runs / 10);
    expect(counts['without need'] ?? 0).toBe(0);
  });

  it('leaves no rejection unhandled', async () => {
    await settled();
    unhandled.length = 0;
    const rejections = vi.spyOn(Promise, 'reject');
    fc.assert(
      fc.property(operationsOf({ graph: hostileGraph }), fc.integer(), (operation, luck) => {
        const world = { evil: 25, nulls: 10, luck, stamp: 0 };
        enterWorld(world);
        const prepared = prepare(operation);
        if (typeof prepared !== 'string') prepared.writer.write(world, prepared.coerced());
      }),
      { numRuns: 300 * TIMES },
    );
    await settled();
    expect(unhandled).toEqual([]);
    expect(rejections.mock.calls.length).toBeGreaterThan(0);
    rejections.mockRestore();
  });
});
