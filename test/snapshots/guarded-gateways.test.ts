import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readEmbeddedFacts } from '../../src/demo/known-facts.js';
import { parseListingRules } from '../../src/domain/listing-rules.js';
import type { Peers } from '../../src/snapshots/stores.js';
import { stopClocks } from '../support/clock.js';
import { type FakeUpstream, json, startFakeUpstream } from '../support/fake-upstream.js';
import { createMemoryPeers } from '../support/memory-peers.js';
import { temporaryDirectory } from '../support/temporary-files.js';
import { createTestGateway, type TestGateway } from '../support/test-gateway.js';
import { GatewayModel, operatorRule, shownRows } from './changes/gateway-model.js';
import type { ModelRule } from './changes/guard-model.js';
import { mayAdd, ruleText, type Step, step, World } from './changes/guard-world.js';

const HOLD_BACK_MS = 86_400_000;
const REFRESHES = 200;

/** A gateway that can be restarted with its disk. */
class Process {
  private gateway: TestGateway | undefined;
  private end: () => Promise<void> = async () => {};
  readonly model = new GatewayModel(HOLD_BACK_MS, new Map(), readEmbeddedFacts().chainKeys);

  constructor(
    private readonly upstream: FakeUpstream,
    private readonly peers: Peers,
    private readonly directory: string,
    private readonly rules: string,
  ) {}

  async start(): Promise<TestGateway> {
    const far = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };
    const { peers, directory, rules } = this;
    this.gateway = await createTestGateway({
      // The upstream outlives it.
      upstream: { ...this.upstream, close: async () => {} },
      peers,
      config: { ...far, snapshotDir: directory, listingRules: rules, holdBackMs: HOLD_BACK_MS },
      atEnd: (end) => {
        this.end = end;
      },
    });
    return this.gateway;
  }

  async stop(): Promise<void> {
    await this.end();
    this.end = async () => {};
  }

  async restart(): Promise<void> {
    await this.stop();
    const { snapshots } = await this.start();
    snapshots.start();
  }

  get running(): TestGateway {
    if (!this.gateway) throw new Error('It was not started');
    return this.gateway;
  }

  /** Resolves when both its listings were taken at this time. */
  async until(time: number): Promise<void> {
    const { snapshots } = this.running;
    // Not `expect.poll`, which advances a stopped clock.
    for (;;) {
      const statuses = snapshots.status(time);
      if (statuses.every(({ takenAt }) => takenAt === time)) return;
      const failed = statuses.find(({ lastFailure }) => lastFailure !== null);
      if (failed) throw new Error(failed.lastFailure?.message);
      await sleep(1);
    }
  }

  expectAsModelled(): void {
    const { snapshots } = this.running;
    const { chains, tokens } = snapshots.current();
    const served = shownRows(chains?.rows ?? [], tokens?.rows ?? []);
    expect(served).toEqual(this.model.served());
    const [ofChains, ofTokens] = snapshots.status(Date.now()).map(({ heldBackRows }) => heldBackRows);
    const heldBackIn = (rows: typeof served.chains | typeof served.tokens) =>
      rows.filter(({ heldBack }) => heldBack.length > 0).length;
    expect(ofChains).toBe(heldBackIn(served.chains));
    expect(ofTokens).toBeGreaterThanOrEqual(heldBackIn(served.tokens));
    expect(ofTokens).toBeLessThanOrEqual(heldBackIn(served.tokens) + this.model.tokens.waiting.size);
  }
}

async function run(steps: readonly Step[]): Promise<void> {
  const clock = stopClocks();
  const directory = temporaryDirectory();
  const rulesFile = join(directory, 'rules.txt');
  writeFileSync(rulesFile, '');
  const upstream = await startFakeUpstream();
  const peers = createMemoryPeers();
  const processes = ['one', 'two'].map(
    (name) => new Process(upstream, peers.join(), join(directory, name), rulesFile),
  ) as [Process, Process];
  onTestFinished(async () => {
    for (const each of processes) await each.stop();
    await upstream.close();
  });
  for (const each of processes) await each.start();
  // Native assets would be compared with the chain listing that is fetched first.
  const world = new World(false, 1);
  const rules: ModelRule[] = [];
  for (const { after, changes, asks, restarts, operator } of steps) {
    clock.advance(after);
    const now = Date.now();
    world.change(changes);
    const { chains, tokens } = world.rows();
    upstream.plan('chains', json({ chains }));
    upstream.plan('tokens', json({ tokens }));
    const asker = processes[asks];
    const other = processes[1 - asks] as Process;
    asker.running.snapshots.refreshNow();
    await asker.until(now);
    asker.model.take(now, world.modelChains(), world.modelTokens(), rules);
    asker.expectAsModelled();
    await other.until(now);
    other.model.read(asker.model, rules);
    other.expectAsModelled();
    if (restarts !== 2) {
      await processes[restarts].restart();
      processes[restarts].model.takeAgain(rules);
      processes[restarts].expectAsModelled();
    }
    const rule = operatorRule(asker.model, operator);
    if (!rule || !mayAdd(rules, rule)) continue;
    rules.push(rule);
    const text = rules.map(ruleText).join('\n');
    writeFileSync(rulesFile, text);
    for (const each of processes) {
      await each.running.snapshots.applyRules(parseListingRules(text));
      each.model.takeAgain(rules);
      each.expectAsModelled();
    }
  }
  // Each answer of the upstream except the first was requested once, by one gateway.
  expect(upstream.count('tokens')).toBeLessThanOrEqual(steps.length + 1);
}

describe('guarded values of two gateways that share', () => {
  it('equal those of a simple model in 200 refreshes with restarts and rules', async () => {
    const steps = fc.array(step, { minLength: REFRESHES, maxLength: REFRESHES, size: 'max' });
    // Shrinking would take longer than reading the failure.
    await fc.assert(fc.asyncProperty(steps, run), { numRuns: 1, endOnFailure: true });
  });
});
