import { describe, expect, it } from 'vitest';
import { EMPTY_GUARD_MEMORY } from '../../src/domain/guard-memory.js';
import { parseListingRules } from '../../src/domain/listing-rules.js';
import { numberChains } from '../../src/snapshots/cross-checks.js';
import { CHAINS } from '../../src/upstream/listing-kinds.js';
import { demoChains } from '../fixtures/demo.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { until } from '../support/clock.js';
import { json, late, startFakeUpstream } from '../support/fake-upstream.js';
import { DAY, type GuardedGateway, onDisk, restart, startGuarded } from '../support/guarded-gateway.js';

const USDC = '0xA0b86991c6218b36c1d19d4a2e9eb0ce3606eb48';
const ETHEREUM = demoChains.find(({ chainKey }) => chainKey === 'ethereum') ?? chainRow('ethereum');
const EVIL = chainRow('evil', { chainId: 1 });
const TOKENS = [tokenRow('ethereum', USDC), tokenRow('evil', USDC, { decimals: 18, symbol: 'EVIL' })];

const numbersOf = async (gateway: GuardedGateway) =>
  Object.fromEntries((await gateway.chains()).map(({ chainKey, caip2 }) => [chainKey, caip2]));

describe('two EVM chains with one chainId', () => {
  it.each([
    ['in this order', [ETHEREUM, EVIL]],
    ['in the reverse order', [EVIL, ETHEREUM]],
  ])(
    'the one of the embedded listing has caip2, caip19 and the token list, the other none: %s',
    async (_order, chains) => {
      const gateway = await startGuarded({ chains, tokens: TOKENS });
      expect(await numbersOf(gateway)).toEqual({ ethereum: 'eip155:1', evil: null });
      const { data } = await gateway.query(
        `{ tokens { chainKey caip19 }
        tokensByCaip19(caip19s: ["eip155:1/erc20:${USDC}"]) { chainKey decimals }
        chainsByCaip2(caip2s: ["eip155:1"]) { chainKey } }`,
      );
      expect(data).toEqual({
        tokens: [
          { chainKey: 'ethereum', caip19: `eip155:1/erc20:${USDC}` },
          { chainKey: 'evil', caip19: null },
        ],
        tokensByCaip19: [{ chainKey: 'ethereum', decimals: 6 }],
        chainsByCaip2: [{ chainKey: 'ethereum' }],
      });
      const list = (await (await gateway.fetch('/tokenlist.json')).json()) as { tokens: readonly object[] };
      expect(list.tokens).toEqual([expect.objectContaining({ chainId: 1, address: USDC, decimals: 6 })]);
    },
  );

  it('keep it where it was before, also after a restart; where neither had it, neither has', async () => {
    const [one, two, three] = ['one', 'two', 'three'].map((key) => chainRow(key, { chainId: 5 }));
    const gateway = await startGuarded({ chains: [one], tokens: TOKENS }, onDisk());
    expect(await numbersOf(gateway)).toEqual({ one: 'eip155:5' });
    await gateway.bring({ chains: [two, one] });
    expect(await numbersOf(gateway)).toEqual({ one: 'eip155:5', two: null });
    const { clock } = gateway;
    const after = await restart(gateway);
    expect(await numbersOf(after)).toEqual({ one: 'eip155:5', two: null });
    await after.bring({ chains: [three, two, one] });
    expect(await numbersOf(after)).toEqual({ one: 'eip155:5', two: null, three: null });
    const first = await startGuarded({ chains: [two, three], tokens: TOKENS }, { clock });
    expect(await numbersOf(first)).toEqual({ two: null, three: null });
  });

  it('a chain that has gone keeps its number from another for HOLD_BACK_MS', async () => {
    const [one, two] = ['one', 'two'].map((key) => chainRow(key, { chainId: 5 }));
    const gateway = await startGuarded({ chains: [one, EVIL], tokens: TOKENS });
    await gateway.bring({ chains: [two, EVIL] });
    expect(await numbersOf(gateway)).toMatchObject({ two: null });
    await gateway.bring({}, DAY - 1);
    expect(await numbersOf(gateway)).toMatchObject({ two: null });
    await gateway.bring({}, 1);
    expect(await numbersOf(gateway)).toMatchObject({ two: 'eip155:5' });
  });

  it('solana sent as evm with the chainId 1 is served as before, and ethereum keeps its number', async () => {
    const solana = chainRow('solana', { chainType: 'solana', chainId: 1 });
    const gateway = await startGuarded({ chains: [ETHEREUM, solana], tokens: TOKENS });
    const before = await numbersOf(gateway);
    await gateway.bring({ chains: [{ ...solana, chainType: 'evm' }, ETHEREUM] });
    expect(await numbersOf(gateway)).toEqual(before);
    expect(await gateway.chains()).toContainEqual(
      expect.objectContaining({
        chainType: 'solana',
        heldBack: [expect.objectContaining({ fact: 'chainType', served: 'solana', upstream: 'evm' })],
      }),
    );
    // In the first listing only the number can decide.
    const first = await startGuarded(
      { chains: [{ ...solana, chainType: 'evm' }, ETHEREUM], tokens: TOKENS },
      { clock: gateway.clock },
    );
    expect(await numbersOf(first)).toEqual({ ethereum: 'eip155:1', solana: null });
  });

  it('as many as an answer may have cost little to tell apart', async () => {
    const many = Array.from({ length: 100_000 }, (_, index) => chainRow(`c${index}`, { chainId: 5 }));
    const fetched = await CHAINS.parse(many, { source: 'v1', takenAt: 0 });
    const begun = process.cpuUsage();
    const { rows } = numberChains({ ...fetched, guard: EMPTY_GUARD_MEMORY }, undefined, new Map(), DAY);
    const { user, system } = process.cpuUsage(begun);
    expect(rows.some(({ caip2 }) => caip2 !== null)).toBe(false);
    // Comparing all pairs would take five billion comparisons.
    expect((user + system) / 1000).toBeLessThan(5_000);
  });
});

describe("the decimals of a chain's native asset on which both listings disagree", () => {
  const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
  const ether = (decimals: number) => tokenRow('a', NATIVE, { symbol: 'ETH', decimals, price: { usd: 2 } });
  const LISTINGS = { chains: [chainRow('a')], tokens: [ether(6), tokenRow('a', USDC)] };
  const held = { fact: 'decimals', served: '6', upstream: '18' };

  it('are served without a price, reported and counted while they disagree', async () => {
    const gateway = await startGuarded(LISTINGS);
    const since = new Date().toISOString();
    // The listings are compared once both are fetched.
    await until(async () => gateway.heldBackRows()[1] === 1);
    for (let days = 0; days < 3; days++) {
      expect((await gateway.tokens())[0]).toMatchObject({
        decimals: 6,
        price: null,
        heldBack: [{ ...held, since }],
      });
      expect((await gateway.tokens())[1]).toMatchObject({ heldBack: [], price: { usd: 0.9998 } });
      expect(gateway.heldBackRows()).toEqual([0, 1]);
      expect(await gateway.sample('gateway_held_back_rows{listing="tokens",fact="decimals"}')).toBe(1);
      await gateway.bring({}, DAY);
    }
    await gateway.bring({ tokens: [ether(18)] });
    // What the token listing has sent so far is guarded like any other value.
    expect((await gateway.tokens())[0]).toMatchObject({ decimals: 6, heldBack: [held] });
    await gateway.bring({}, DAY);
    expect((await gateway.tokens())[0]).toMatchObject({ decimals: 18, heldBack: [] });
  });

  it('are reported if the chains are fetched last, and settled by the rule that the log gives', async () => {
    const upstream = await startFakeUpstream(LISTINGS);
    upstream.plan('chains', late(200, json({ chains: LISTINGS.chains })));
    const gateway = await startGuarded({}, { upstream });
    await expect.poll(async () => (await gateway.tokens())[0]).toMatchObject({ heldBack: [held] });
    await expect.poll(gateway.ruleInLog).toBe(`keep a:${NATIVE} decimals 6`);
    await gateway.snapshots.applyRules(parseListingRules(gateway.ruleInLog() ?? ''));
    expect((await gateway.tokens())[0]).toMatchObject({ decimals: 6, price: { usd: 2 }, heldBack: [] });
    expect(gateway.heldBackRows()).toEqual([0, 0]);
  });
});
