/** The operator's rules "accept" and "keep" decide about guarded values; rows hidden by "hide" do not count as lost. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import { DAY } from '../support/clock.js';
import { temporaryDirectory, temporaryFile } from '../support/ends.js';
import { type FakeAnswers, json, status } from '../support/fake-upstream.js';
import { LISTINGS, numbered, restart, startGuarded, WRONG } from '../support/guarded-gateway.js';

const { tokens: RIGHT } = LISTINGS;
const [, ...REST] = RIGHT;

const serve = (rules: string, listings: FakeAnswers = LISTINGS) =>
  startGuarded(listings, { config: { listingRules: temporaryFile(rules) } });

it('the rule "accept" accepts a change at once, without a refresh if it is already held back', async () => {
  const gateway = await serve('accept a:0x1 decimals 6 18 # right\n');
  await gateway.bring({ tokens: WRONG });
  expect(await gateway.first()).toMatchObject({ decimals: 18, price: { usd: 1 }, heldBack: [] });

  const later = await serve('');
  await later.bring({ tokens: WRONG });
  expect(await later.first()).toMatchObject({ decimals: 6 });
  const asked = later.upstream.count('tokens');
  await later.apply(`# pasted\n${later.ruleInLog()}\n`);
  expect(await later.first()).toMatchObject({ decimals: 18, price: { usd: 1 }, heldBack: [] });
  expect(later.upstream.count('tokens')).toBe(asked);
  await later.apply('');
  await later.bring({});
  expect(await later.first()).toMatchObject({ decimals: 18, heldBack: [] });
});

it('the rule "accept" accepts only the change that it names', async () => {
  const gateway = await serve('accept a:0x1 decimals 6 8\naccept a:0x2 decimals 6 18\n');
  await gateway.bring({ tokens: WRONG });
  expect(await gateway.first()).toMatchObject({ decimals: 6 });
  // If two facts of a row have changed, the row is accepted only if rules accept both changes.
  await gateway.bring({ tokens: [numbered(1, { decimals: 8, symbol: 'X' }), ...REST] });
  expect(await gateway.first()).toMatchObject({ decimals: 6, symbol: 'S1' });
});

it('the rule "keep" never accepts a change, however long it is sent, and `heldBack` shows it', async () => {
  const gateway = await serve('keep a:0x1 decimals 6\nkeep a chainId 7\n');
  await gateway.bring({ tokens: WRONG, chains: [chainRow('a', { chainId: 8 })] });
  await gateway.bring({}, 100 * DAY);
  expect(await gateway.chains()).toMatchObject([{ chainId: 7, heldBack: [{ upstream: '8' }] }]);
  expect(await gateway.first()).toMatchObject({ decimals: 6, price: null, heldBack: [{ upstream: '18' }] });
  expect(gateway.heldBackRows()).toEqual([1, 1]);
  // The log suggests no rule: it would contradict the operator's.
  expect(gateway.heldBackLines()).toEqual([
    'Held back in the chains listing: 7 is served as chainId, and the upstream now sends 8. A keep rule of LISTING_RULES decides so.',
    'Held back in the tokens listing: 6 is served as decimals, and the upstream now sends 18. A keep rule of LISTING_RULES decides so.',
  ]);
  await gateway.bring({ tokens: RIGHT });
  expect(await gateway.first()).toMatchObject({ decimals: 6, price: { usd: 1 }, heldBack: [] });
});

it('the rule "keep" of a type that the operator writes in upper case serves the type in lower case', async () => {
  const gateway = await serve('keep a chainType EVM\n');
  await gateway.bring({ chains: [chainRow('a', { chainType: 'solana' })] });
  const served = { chainType: 'evm', caip2: 'eip155:7' };
  const heldBack = [{ served: 'evm', upstream: 'solana' }];
  expect(await gateway.chains()).toMatchObject([{ ...served, heldBack }]);
  await gateway.bring({ chains: [chainRow('a', { chainType: 'EVM' })] });
  expect(await gateway.chains()).toMatchObject([{ ...served, heldBack: [] }]);
});

it('the rule "keep" applies in the first listing to the chain of the demo data, and not to another that claims its CAIP-2 identifier', async () => {
  const rogue = chainRow('rogue', { chainId: 1 });
  for (const wrong of [{ chainId: 1, chainType: 'solana' }, { chainId: 5 }]) {
    const chains = [chainRow('ethereum', wrong), rogue];
    const rules = 'keep eip155:1 chainType evm\nkeep eip155:1 chainId 1\n';
    const gateway = await serve(rules, { chains, tokens: RIGHT });
    expect(await gateway.chains()).toMatchObject([
      { chainKey: 'ethereum', chainId: 1, chainType: 'evm', caip2: 'eip155:1', heldBack: [{}] },
      { chainKey: 'rogue', caip2: null, heldBack: [] },
    ]);
  }
});

it('the rule "keep" applies after a restart to the chain that has its CAIP-2 identifier, and not to another that claims it', async () => {
  const [ethereum, rogue] = ['ethereum', 'rogue'].map((key) => chainRow(key, { chainId: 1 }));
  const listingRules = temporaryFile('keep eip155:1 chainType evm\n');
  const config = { listingRules, snapshotDir: temporaryDirectory() };
  const gateway = await startGuarded({ chains: [ethereum, rogue], tokens: RIGHT }, { config });
  const chains = [{ ...ethereum, chainType: 'solana' }, rogue];
  await gateway.bring({ chains });
  await gateway.bring({}, 2 * DAY);
  const kept = { chainKey: 'ethereum', chainType: 'evm', heldBack: [{ upstream: 'solana' }] };
  expect((await gateway.chains())[0]).toMatchObject(kept);
  const after = await restart(gateway);
  expect((await after.chains())[0]).toMatchObject(kept);
});

it.each([
  ['decimals 6', { decimals: 18 }],
  ['symbol S99', { symbol: 'OTHER' }],
])(
  'the rule "keep" of %s leaves out routes to a token with another one, even if the token is not listed',
  async (kept, changes) => {
    const routes = json({ tokens: [numbered(99, changes), RIGHT[1]] });
    const gateway = await serve(`keep a:0x63 ${kept}\n`, { ...LISTINGS, routes });
    const asked = '{ tokens(srcChainKey: "a", srcToken: "0x1") { address } }';
    expect((await gateway.query(asked)).data).toEqual({ tokens: [{ address: RIGHT[1]?.address }] });
  },
);

it('the rule "keep" ends the alert: the metrics do not count facts that such a rule keeps', async () => {
  const counts = async () =>
    Promise.all(
      [
        'gateway_held_back_rows{listing="tokens",fact="decimals"}',
        'gateway_held_back_rows{listing="tokens",fact="symbol"}',
        'gateway_held_back_rows{listing="chains",fact="chainId"}',
        'gateway_held_back_oldest_seconds{listing="tokens"}',
        'gateway_held_back_oldest_seconds{listing="chains"}',
      ].map(gateway.sample),
    );
  const gateway = await serve('');
  await gateway.bring({ tokens: WRONG, chains: [chainRow('a', { chainId: 8 })] });
  await gateway.bring({}, 3_600_000);
  expect(await counts()).toEqual([1, 0, 1, 3_600, 3_600]);
  await gateway.apply('keep a:0x1 decimals 6\nkeep a chainId 7');
  expect(await counts()).toEqual([0, 0, 0, 0, 0]);
  expect(gateway.heldBackRows()).toEqual([1, 1]);
  await gateway.bring({ tokens: [{ ...WRONG[0], symbol: 'X' }, ...REST] });
  await gateway.bring({}, 60_000);
  expect(await counts()).toEqual([0, 1, 0, 60, 0]);
  await gateway.apply('');
  expect((await counts())[0]).toBe(1);
});

it('the rule "keep" applies in the first listing, and restores a value after another one was accepted', async () => {
  const gateway = await serve('keep a:0x1 decimals 6\n', { ...LISTINGS, tokens: WRONG });
  expect(await gateway.first()).toMatchObject({ decimals: 6, heldBack: [{ served: '6', upstream: '18' }] });
  const later = await serve('', { ...LISTINGS, tokens: WRONG });
  expect(await later.first()).toMatchObject({ decimals: 18 });
  await later.apply('keep a:0x1 decimals 6\n');
  expect(await later.first()).toMatchObject({ decimals: 6 });
  await later.bring({ tokens: RIGHT });
  expect(await later.first()).toMatchObject({ decimals: 6, price: { usd: 1 }, heldBack: [] });
});

it('the rule "keep" with a CAIP identifier holds although its chain was unknown for days after a restart', async () => {
  const snapshotDir = temporaryDirectory();
  const config = { snapshotDir, listingRules: temporaryFile('keep eip155:7:0x1 address 0x1\n') };
  const before = await startGuarded(LISTINGS, { config });
  await before.bring({ tokens: [numbered(2, { symbol: 'S1' }), ...REST] });
  await before.stop();
  for (const file of readdirSync(snapshotDir))
    if (file.startsWith('chains-')) rmSync(join(snapshotDir, file));
  const { upstream, clock } = before;
  upstream.plan('chains', status(500));
  const after = await startGuarded({}, { upstream, clock, config });
  await after.bring({}, 2 * DAY);
  await after.bring({ chains: LISTINGS.chains });
  expect(await after.row()).toMatchObject({ price: null, heldBack: [{ upstream: '0x2' }] });
});

it('without the rule "keep" its value stays served if the upstream contradicts itself and no value was accepted', async () => {
  const both = [numbered(1), numbered(1, { decimals: 18 }), ...REST];
  const gateway = await serve('keep a:0x1 decimals 6\n', { ...LISTINGS, tokens: both });
  await gateway.apply('');
  expect(await gateway.first()).toMatchObject({ decimals: 6, heldBack: [{ served: '6' }] });
});

it('a rule that hides a row hides its held-back values, and does not count as a loss', async () => {
  const gateway = await serve('hide a:0x1\n');
  await gateway.bring({ tokens: WRONG });
  expect(await gateway.tokens()).toHaveLength(10);
  expect(gateway.heldBackRows()).toEqual([0, 0]);
  expect(await gateway.sample('gateway_held_back_rows{listing="tokens",fact="decimals"}')).toBe(0);
  await gateway.apply('');
  expect(await gateway.tokens()).toHaveLength(11);
  expect(await gateway.first()).toMatchObject({ decimals: 6, heldBack: [{ upstream: '18' }] });
});
