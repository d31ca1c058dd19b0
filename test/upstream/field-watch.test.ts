/** New and missing fields in the rows of the upstream are logged and counted once. */
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { createTestGateway, sampleOf, type TestGateway } from '../support/test-gateway.js';
import { refreshWith, UNGUARDED } from '../support/test-server.js';

const CHAINS = [chainRow('a')];
const rows = (changes: object = {}) => [
  { ...tokenRow('a', '0x1'), ...changes },
  { ...tokenRow('a', '0x2'), tag: 'sometimes' },
];
const without = (row: object, name: string) =>
  Object.fromEntries(Object.entries(row).filter(([key]) => key !== name));

const serve = () =>
  createTestGateway({ hasListings: true, listings: { chains: CHAINS, tokens: rows() }, config: UNGUARDED });

const driftsOf = ({ logged }: TestGateway) =>
  logged
    .filter(({ msg }) => msg.startsWith('The fields of'))
    .map(({ listing, fields, appeared, missing, level }) => ({ listing, fields, appeared, missing, level }));

const counted = async (gateway: TestGateway, drift: 'appeared' | 'missing') =>
  sampleOf(gateway, `gateway_upstream_field_drift_total{listing="tokens",drift="${drift}"}`);

it('fields are not reported while they stay the same, even if only some rows have one', async () => {
  const gateway = await serve();
  await refreshWith(gateway, [tokenRow('a', '0x1', { price: null }), tokenRow('a', '0x2')], CHAINS);
  await refreshWith(gateway, rows({ tag: 'now here' }), CHAINS);
  expect(driftsOf(gateway)).toEqual([]);
});

it('fields are logged and counted once if one is new, also within an object', async () => {
  const gateway = await serve();
  const [chain = chainRow('a')] = CHAINS;
  const odd = { ...chain, nativeCurrency: { ...(chain.nativeCurrency as object), logo: 'x' } };
  for (let time = 0; time < 3; time++) await refreshWith(gateway, rows({ verified: true }), [odd]);
  expect(driftsOf(gateway)).toEqual(
    expect.arrayContaining([
      { listing: 'tokens', fields: 1, appeared: ['verified'], missing: [], level: 'warn' },
      { listing: 'chains', fields: 1, appeared: ['nativeCurrency.logo'], missing: [], level: 'warn' },
    ]),
  );
  expect(driftsOf(gateway)).toHaveLength(2);
  expect(await counted(gateway, 'appeared')).toBe(1);
  expect(await counted(gateway, 'missing')).toBe(0);
});

it('fields are logged and counted once if one is missing that all rows had before', async () => {
  const gateway = await serve();
  const [one = {}, ...others] = rows();
  for (let time = 0; time < 2; time++) {
    await refreshWith(gateway, [without(one, 'price'), ...others], CHAINS);
    await refreshWith(gateway, rows(), CHAINS);
  }
  expect(driftsOf(gateway)).toEqual([
    { listing: 'tokens', fields: 1, appeared: [], missing: ['price'], level: 'warn' },
  ]);
  expect(await counted(gateway, 'missing')).toBe(1);
});

it('fields are logged in bounded space, whatever their names are', async () => {
  const gateway = await serve();
  const hostile = (time: number) =>
    Object.fromEntries(
      Array.from({ length: 500 }, (_, index) => [`\u001b[2J${time}-${index}-${'x'.repeat(1000)}`, 1]),
    );
  for (let time = 0; time < 4; time++) await refreshWith(gateway, rows(hostile(time)), CHAINS);
  const drifts = driftsOf(gateway);
  const names = drifts.flatMap(({ appeared }) => appeared as string[]);
  expect(drifts.length).toBeGreaterThan(0);
  expect(drifts.length).toBeLessThanOrEqual(2);
  expect(names.length).toBeLessThanOrEqual(40);
  expect(Math.max(...names.map(({ length }) => length))).toBe(64);
  const count = await counted(gateway, 'appeared');
  expect(count).toBeGreaterThan(100);
  expect(count).toBeLessThan(200);
});
