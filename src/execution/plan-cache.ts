import type { DocumentNode, GraphQLSchema, OperationDefinitionNode } from 'graphql';
import { type OperationPlan, type PlanOptions, planOperation } from './operation-plan.js';

export interface PlanCacheOptions extends PlanOptions {
  /** Limit on the plans together, in bytes, by their {@link OperationPlan.size}. */
  readonly maxBytes?: number;
}

/** Plans of operations that come again. */
export interface PlanCache {
  /**
   * The plan of an operation, to be used at once; plans are found by the operation's node.
   *
   * @returns undefined for an operation that cannot be planned, and for one that lately had to wait for promises: each
   *   time it does, it is left to graphql-js for more requests
   */
  planFor(document: DocumentNode, operation: OperationDefinitionNode): OperationPlan | undefined;
  /** How many plans there are. */
  readonly count: number;
  /** Their size together, in bytes. */
  readonly bytes: number;
}

const MAX_BYTES = 8_388_608;
/** After so many promises in a row a plan is tried once in as many requests. */
const MAX_PAUSE = 1_024;

export function createPlanCache(schema: GraphQLSchema, options: PlanCacheOptions = {}): PlanCache {
  const { maxBytes = MAX_BYTES } = options;
  /** In the order of their last use. */
  const plans = new Map<OperationDefinitionNode, CachedPlan>();
  let bytes = 0;

  function resize(operation: OperationDefinitionNode, cached: CachedPlan): void {
    // A plan that was dropped while it was in use has no size here.
    if (plans.get(operation) !== cached) return;
    bytes += cached.resize();
    for (const [oldest, { countedSize }] of plans) {
      if (bytes <= maxBytes) return;
      plans.delete(oldest);
      bytes -= countedSize;
    }
  }

  return {
    planFor(document, operation) {
      const known = plans.get(operation);
      if (known) {
        plans.delete(operation);
        plans.set(operation, known);
        return known.isPaused() ? undefined : known;
      }
      const plan = planOperation(schema, document, operation, options);
      if (!plan) return undefined;
      const cached = new CachedPlan(plan, () => resize(operation, cached));
      plans.set(operation, cached);
      resize(operation, cached);
      return cached;
    },
    get count() {
      return plans.size;
    },
    get bytes() {
      return bytes;
    },
  };
}

class CachedPlan implements OperationPlan {
  /** The size that the cache has counted. */
  countedSize = 0;
  private pause = 0;
  private pausedFor = 0;

  constructor(
    private readonly plan: OperationPlan,
    private readonly onWritten: () => void,
  ) {}

  get metPromise(): boolean {
    return this.plan.metPromise;
  }

  get size(): number {
    return this.plan.size;
  }

  coerce(...args: Parameters<OperationPlan['coerce']>): ReturnType<OperationPlan['coerce']> {
    return this.plan.coerce(...args);
  }

  write(...args: Parameters<OperationPlan['write']>): readonly Buffer[] | undefined {
    const parts = this.plan.write(...args);
    // Not after errors: one client could disable a plan that others use.
    if (parts) this.pause = 0;
    else if (this.plan.metPromise) {
      this.pause = Math.min(MAX_PAUSE, this.pause * 2 + 1);
      this.pausedFor = this.pause;
    }
    if (this.plan.size !== this.countedSize) this.onWritten();
    return parts;
  }

  /** Counts the request that asks. */
  isPaused(): boolean {
    if (this.pausedFor === 0) return false;
    this.pausedFor--;
    return true;
  }

  /** @returns by how much its size has changed since it was counted */
  resize(): number {
    const change = this.plan.size - this.countedSize;
    this.countedSize += change;
    return change;
  }
}
