import { buildSchema, type GraphQLObjectType, type OperationDefinitionNode, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { FROM_LISTINGS } from '../../src/domain/row-fields.js';
import { type OperationPlan, planOperation } from '../../src/execution/operation-plan.js';
import { RowJsonBudget } from '../../src/execution/writing/row-json.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { stopClocks } from '../support/clock.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { refreshWith, startServer } from '../support/test-server.js';

/** A state that the rows' field `state` reads, and the context through which it notes that. */
interface World {
  state: string;
  /** How often the field was resolved. */
  resolved: number;
}

function contextOf(world: World) {
  const noted = { state: '' };
  return {
    noted,
    world,
    recorder: {
      begin: () => ({ ...noted }),
      end: () => ({ state: noted.state }),
      repeat(reads: { readonly state: string }) {
        if (reads.state !== world.state) return false;
        noted.state = reads.state;
        return true;
      },
    },
  };
}
type Context = ReturnType<typeof contextOf>;

const ROWS = Object.freeze(
  Array.from({ length: 20 }, (_, nth) => Object.freeze({ a: `row ${nth}`, b: nth })),
);

interface Options {
  readonly rows?: () => readonly (typeof ROWS)[number][];
  readonly maxBytes?: number;
  readonly fails?: () => boolean;
  /** Whether the field says that it comes from the listings. */
  readonly isDeclared?: boolean;
}

/** Plans an operation over rows. */
function planOf(text: string, options: Options = {}): OperationPlan {
  const { rows = () => ROWS, maxBytes = 1e6, fails = () => false, isDeclared = true } = options;
  const schema = buildSchema(
    'type Query { rows: [Row] } type Row { a: String b: Int state(add: String): String plain: String }',
  );
  const fieldOf = (type: string, name: string) =>
    (schema.getType(type) as GraphQLObjectType).getFields()[name] ?? {};
  Object.assign(fieldOf('Query', 'rows'), { resolve: () => rows() });
  const resolve = (_row: unknown, _args: unknown, { world, noted }: Context) => {
    world.resolved++;
    noted.state = world.state;
    if (fails()) throw new Error('It fails');
    return world.state;
  };
  const extensions = isDeclared ? FROM_LISTINGS : {};
  Object.assign(fieldOf('Row', 'state'), { resolve, extensions });
  Object.assign(fieldOf('Row', 'plain'), { resolve, extensions });
  const document = parse(text);
  const [operation] = document.definitions as readonly OperationDefinitionNode[];
  const plan =
    operation && planOperation(schema, document, operation, { budget: new RowJsonBudget(maxBytes) });
  if (!plan) throw new Error('Expected a plan');
  return plan;
}

/** Plans an operation over rows. @returns how many calls of the field it makes in a world; undefined if it failed */
function planOver(text: string, options: Options = {}): (world: World) => number {
  const plan = planOf(text, options);
  const { rows = () => ROWS } = options;
  return (world) => {
    const before = world.resolved;
    const context = contextOf(world);
    const written = plan.write(context, {});
    if (written) {
      const expected = rows().map(({ a, b }) => ({ a, b, plain: world.state }));
      for (const list of Object.values(JSON.parse(Buffer.concat(written).toString()).data))
        expect(list).toEqual(expected);
      expect(context.noted.state).toBe(world.state);
    }
    return world.resolved - before;
  };
}

const world = (): World => ({ state: 'one', resolved: 0 });

describe('the kept JSON of a list', () => {
  it('is used from the third time on, and made anew where something else is read', () => {
    const calls = planOver('{ rows { a b plain } }');
    const here = world();
    expect([calls(here), calls(here), calls(here), calls(here)]).toEqual([20, 20, 0, 0]);
    here.state = 'two';
    expect([calls(here), calls(here)]).toEqual([20, 0]);
  });

  it('becomes a part of each answer as it is, if it is long', () => {
    const rows = Object.freeze(
      Array.from({ length: 500 }, (_, nth) => Object.freeze({ a: `row ${nth}`, b: nth })),
    );
    const plan = planOf('{ rows { a b plain } __typename }', { rows: () => rows });
    const here = world();
    const answers = Array.from({ length: 4 }, () => plan.write(contextOf(here), {}) ?? []);
    const texts = answers.map((parts) => Buffer.concat(parts).toString());
    const expected = { rows: rows.map((row) => ({ ...row, plain: 'one' })), __typename: 'Query' };
    for (const text of texts) expect(text).toBe(JSON.stringify({ data: expected }));
    const [, , third = [], fourth = []] = answers;
    expect(third).toHaveLength(3);
    expect(third[1]?.length).toBeGreaterThan(10_000);
    expect(fourth[1]).toBe(third[1]);
  });

  it('is used for two fields of an operation', () => {
    const calls = planOver('{ rows { a b plain } other: rows { b plain a } }');
    const here = world();
    expect([calls(here), calls(here), calls(here)]).toEqual([40, 40, 0]);
  });

  it.each<[string, string, Options]>([
    ['a field that does not say what it reads', '{ rows { a b plain } }', { isDeclared: false }],
    ['a field with arguments', '{ rows { a b plain: state(add: "x") } }', {}],
    [
      'rows that can change',
      '{ rows { a b plain } }',
      { rows: () => Object.freeze(ROWS.map((row) => ({ ...row }))) },
    ],
    ['a list that is larger than may be kept', '{ rows { a b plain } }', { maxBytes: 1_000 }],
  ])('is not used for %s', (_name, text, options) => {
    const calls = planOver(text, options);
    const here = world();
    expect([calls(here), calls(here), calls(here), calls(here)]).toEqual([20, 20, 20, 20]);
  });

  it('is that of each row where the list can change', () => {
    let rows = [...ROWS];
    const calls = planOver('{ rows { a b plain } }', { rows: () => rows });
    const here = world();
    expect([calls(here), calls(here)]).toEqual([20, 20]);
    rows.reverse();
    expect(calls(here)).toBe(0);
    rows = [...rows.slice(0, 9), Object.freeze({ a: 'row 99' as const, b: 99 })];
    expect([calls(here), calls(here)]).toEqual([1, 0]);
    here.state = 'two';
    expect([calls(here), calls(here)]).toEqual([10, 0]);
  });

  it('is not kept of a list that was not finished', () => {
    let left = Number.POSITIVE_INFINITY;
    const calls = planOver('{ rows { a b plain } }', { fails: () => left-- <= 0 });
    const here = world();
    expect(calls(here)).toBe(20);
    left = 10;
    expect(calls(here)).toBe(11);
    left = Number.POSITIVE_INFINITY;
    expect([calls(here), calls(here)]).toEqual([20, 0]);
  });

  it('begins anew where all lists together are larger than may be kept', () => {
    const lists = Array.from({ length: 20 }, () => Object.freeze([...ROWS]));
    let rows: readonly (typeof ROWS)[number][] = ROWS;
    const calls = planOver('{ rows { a b plain } }', { maxBytes: 8_000, rows: () => rows });
    const here = world();
    calls(here);
    for (rows of lists) expect(calls(here)).toBe(20);
    const again = lists.map((list) => {
      rows = list;
      return calls(here);
    });
    expect(again).toContain(20);
  });
});

describe('a list with other variables each time', () => {
  const ROW_COUNT = 30;
  const upstreamRows = (usd: number) => {
    const tokens = Array.from({ length: ROW_COUNT }, (_, nth) =>
      tokenRow('ethereum', `0x${String(nth + 1).padStart(40, '0')}`, { symbol: `T${nth}`, price: { usd } }),
    );
    return { chains: [chainRow('ethereum')], tokens };
  };
  const QUERY =
    'query ($other: String!) { tokens(srcChainKey: "ethereum") { symbol price { usd } chain { name } } other: chain(chainKey: $other) { name } }';

  it('has the same body and headers each time, and those of the present listings after a refresh', async () => {
    const upstream = await startFakeUpstream(upstreamRows(1));
    const server = await startServer({ upstream, config: LONG });
    let other = 0;
    const ask = async () => {
      const { headers, body } = await server.ask({
        query: QUERY,
        variables: { other: `other-${other++}` },
        method: 'GET',
      });
      const { date: _date, age: _age, 'x-request-id': _id, 'cache-control': control, ...same } = headers;
      return { body: JSON.parse(String(body)), headers: same, control: control?.replace(/\d+/g, '') };
    };
    const expectAnswers = async (usd: number, name: string) => {
      const first = await ask();
      const tokens = Array.from({ length: ROW_COUNT }, (_, nth) => {
        return { symbol: `T${nth}`, price: { usd }, chain: { name } };
      });
      expect(first.body).toEqual({ data: { tokens, other: null } });
      for (let nth = 0; nth < 3; nth++) expect(await ask()).toEqual(first);
    };
    await server.ask({ query: '{ chains { name } tokens { name } }' });
    await expectAnswers(1, 'The ethereum chain');
    await refreshWith(server, upstreamRows(2).tokens, [chainRow('ethereum')]);
    await expectAnswers(2, 'The ethereum chain');
    await refreshWith(server, upstreamRows(2).tokens, [chainRow('ethereum', { name: 'Ether' })]);
    await expectAnswers(2, 'Ether');
  });

  it('shows no price that has become too old', async () => {
    const clock = stopClocks();
    const upstream = await startFakeUpstream(upstreamRows(1));
    const server = await startServer({ upstream, config: { ...LONG, priceMaxAgeMs: 60_000 } });
    await server.ask({ query: '{ chains { name } tokens { name } }' });
    let other = 0;
    const prices = async () => {
      const { body, headers } = await server.ask({
        query: QUERY,
        variables: { other: `other-${other++}` },
        method: 'GET',
      });
      const { tokens } = JSON.parse(String(body)).data as { tokens: { price: { usd: number } | null }[] };
      return [
        new Set(tokens.map(({ price }) => price?.usd)),
        /max-age=(\d+)/.exec(headers['cache-control'] ?? '')?.[1],
      ];
    };
    for (let nth = 0; nth < 3; nth++) {
      const [shown, maxAge] = await prices();
      expect(shown).toEqual(new Set([1]));
      expect(Number(maxAge)).toBeGreaterThan(50);
    }
    clock.advance(59_000);
    const [shown, maxAge] = await prices();
    expect(shown).toEqual(new Set([1]));
    expect(Number(maxAge)).toBeLessThanOrEqual(1);
    clock.advance(1_100);
    for (let nth = 0; nth < 3; nth++) expect((await prices())[0]).toEqual(new Set([undefined]));
  });

  it('is answered anew after a change of the chains that only its list reads', async () => {
    const upstream = await startFakeUpstream(upstreamRows(1));
    const server = await startServer({ upstream, config: LONG });
    await server.ask({ query: '{ chains { name } tokens { name } }' });
    const query = 'query ($key: String) { tokens(srcChainKey: $key) { symbol chain { name } } }';
    const ask = async () => String((await server.ask({ query, variables: { key: 'ethereum' } })).body);
    // The third time it is given from the response cache, whose entry was made with the kept list.
    for (let nth = 0; nth < 2; nth++) await server.ask({ query, variables: { key: `no-${nth}` } });
    for (let nth = 0; nth < 4; nth++) expect(await ask()).toContain('The ethereum chain');
    await refreshWith(server, upstreamRows(1).tokens, [chainRow('ethereum', { name: 'Ether' })]);
    for (let nth = 0; nth < 4; nth++) expect(await ask()).not.toContain('The ethereum chain');
  });
});

const LONG = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };
