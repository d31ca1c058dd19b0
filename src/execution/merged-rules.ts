import {
  type ASTNode,
  type ASTVisitFn,
  type ASTVisitor,
  Kind,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';

const KINDS: readonly string[] = Object.values(Kind);

/** A function of a visitor. Of the values that it may return, only `false` matters: its rule sees nothing below. */
type Visit = ASTVisitFn<ASTNode>;

/** The functions for one kind of node, each with the number of its rule. */
interface Visits {
  readonly enter: { readonly visit: Visit; readonly rule: number }[];
  readonly leave: { readonly visit: Visit; readonly rule: number }[];
}

/**
 * Merges validation rules into one, with the same errors in the same order. graphql-js asks each of its rules for each of fifty kinds
 * of nodes, and again for each document; that takes twice as long as the rest of a validation.
 *
 * @param rules must not edit the document, nor end the visit of it
 */
export function mergedRules(rules: readonly ValidationRule[]): ValidationRule {
  return (context) => new MergedRules(rules, context).visitor();
}

class MergedRules {
  private readonly visitors: readonly ASTVisitor[];
  private readonly visits = new Map<string, Visits>();
  /** By rule, the node below which it sees nothing. */
  private readonly skipped: (ASTNode | undefined)[];
  private skippedCount = 0;

  constructor(rules: readonly ValidationRule[], context: ValidationContext) {
    this.visitors = rules.map((rule) => rule(context));
    this.skipped = this.visitors.map(() => undefined);
    for (const [rule, visitor] of this.visitors.entries()) {
      const given = visitor as Readonly<Record<string, unknown>>;
      for (const kind of Object.keys(given)) {
        if (kind !== 'enter' && kind !== 'leave') this.add(kind, rule, given[kind]);
      }
      const { enter, leave } = given;
      if (!enter && !leave) continue;
      for (const kind of KINDS) if (!Object.hasOwn(given, kind)) this.add(kind, rule, { enter, leave });
    }
  }

  visitor(): ASTVisitor {
    const merged: Record<string, { readonly enter: Visit; readonly leave: Visit }> = {};
    for (const [kind, visits] of this.visits) {
      merged[kind] = {
        enter: (node, key, parent, path, ancestors) => {
          for (const { visit, rule } of visits.enter) {
            if (this.skipped[rule]) continue;
            // Written out: rest parameters would add a fifth.
            const result = visit.call(this.visitors[rule], node, key, parent, path, ancestors);
            if (result === false) this.skip(rule, node);
          }
        },
        leave: (node, key, parent, path, ancestors) => {
          for (const { visit, rule } of visits.leave) {
            if (!this.skipped[rule]) visit.call(this.visitors[rule], node, key, parent, path, ancestors);
          }
          if (this.skippedCount > 0) this.endSkips(node);
        },
      };
    }
    return merged;
  }

  /** @param given a function for the beginning of a node, or one each for its beginning and its end */
  private add(kind: string, rule: number, given: unknown): void {
    const { enter, leave } = (typeof given === 'function' ? { enter: given } : given) as Partial<
      Record<'enter' | 'leave', Visit>
    >;
    let visits = this.visits.get(kind);
    if (!visits) {
      visits = { enter: [], leave: [] };
      this.visits.set(kind, visits);
    }
    if (enter) visits.enter.push({ visit: enter, rule });
    if (leave) visits.leave.push({ visit: leave, rule });
  }

  private skip(rule: number, node: ASTNode): void {
    this.skipped[rule] = node;
    this.skippedCount++;
  }

  private endSkips(node: ASTNode): void {
    for (const [rule, below] of this.skipped.entries()) {
      if (below !== node) continue;
      this.skipped[rule] = undefined;
      this.skippedCount--;
    }
  }
}
