import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createTurns, type Turns } from '../../src/scheduling/turns.js';
import { stopClock } from '../support/clock.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

const SHORT = { maxWaitMs: 60_000 };

/** Blocks the event loop, as the execution of a long list does. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** An operation after which others have to wait: it takes a whole slice. */
function runLong(turns: Turns): Promise<void> {
  return turns.run(
    'long',
    () => block(2),
    () => {},
  );
}

describe('turns', () => {
  it.each([
    ['that wait for something', async (order: string[], name: string) => order.push(name)],
    [
      'of more than a millisecond',
      (order: string[], name: string) => {
        block(2);
        return order.push(name);
      },
    ],
  ])('let the event loop look at its connections between two operations %s', async (_name, execute) => {
    const turns = createTurns(SHORT);
    const order: string[] = [];
    // Each immediate stands for one look of the event loop at its connections.
    const looking = (async () => {
      for (let look = 0; look < 4; look++) {
        await setImmediate();
        order.push('look');
      }
    })();
    const operations = ['a', 'b', 'c'].map((name) =>
      turns.run(
        undefined,
        () => execute(order, name),
        () => order.push('refused'),
      ),
    );
    await looking;
    await Promise.all(operations);
    expect(order.filter((each) => each !== 'look')).toEqual(['a', 'b', 'c']);
    expect(order.join(' ')).toMatch(/^a (look )+b (look )+c/);
  });

  it('go round the clients, so that one with many operations delays only its own', async () => {
    const turns = createTurns(SHORT);
    const order: string[] = [];
    const ask = (client: string, name: string) =>
      turns.run(
        client,
        () => order.push(name),
        () => 0,
      );
    const long = runLong(turns);
    const many = Array.from({ length: 50 }, (_nothing, nth) => ask('many', `many ${nth}`));
    await Promise.all([long, ...many, ask('few', 'few 0'), ask('few', 'few 1')]);
    expect(order.indexOf('few 0')).toBeLessThan(4);
    expect(order.indexOf('few 1')).toBeLessThan(6);
  });

  it('refuse what has waited too long, without executing it', async () => {
    // The operations alone take time.
    const clock = stopClock();
    const turns = createTurns({ maxWaitMs: 20 });
    const execute = () => {
      clock.advance(15);
      return 'executed';
    };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => turns.run('one', execute, () => 'refused')),
    );
    expect(answers[0]).toBe('executed');
    expect(answers.at(-1)).toBe('refused');
    expect(await turns.run('one', execute, () => 'refused')).toBe('executed');
  });

  it('refuse at once what comes when a thousand wait, and the last of the client with the most', async () => {
    const turns = createTurns(SHORT);
    let refused = 0;
    const ask = (client: string) =>
      turns.run(
        client,
        () => 'executed',
        () => {
          refused++;
          return 'refused';
        },
      );
    const long = runLong(turns);
    const many = Array.from({ length: 1_100 }, () => ask('many'));
    const few = ask('few');
    await setImmediate();
    expect(refused).toBeGreaterThan(90);
    expect(await few).toBe('executed');
    await Promise.all([long, ...many]);
    expect(turns.waiting).toBe(0);
  });

  it('give one client a quarter of the places for operations that wait for the upstream', async () => {
    const turns = createTurns(SHORT);
    let answer: (value: string) => void = () => {};
    const upstream = new Promise<string>((resolve) => {
      answer = resolve;
    });
    const ask = (client: string) =>
      turns.run(
        client,
        () => upstream,
        () => 'refused',
      );
    const greedy = Array.from({ length: 300 }, () => ask('greedy'));
    while (turns.waiting > 0) await setImmediate();
    expect(turns.underWay).toBe(250);
    const other = ask('other');
    while (turns.waiting > 0) await setImmediate();
    answer('answered');
    expect(await other).toBe('answered');
    const answers = await Promise.all(greedy);
    expect(answers.filter((each) => each === 'refused')).toHaveLength(50);
    expect(turns.underWay).toBe(0);
  });
});

describe('operations that wait for the upstream', () => {
  it('do not keep others from their turns, and resume one by one', async () => {
    const upstream = await startFakeUpstream();
    const { query } = await createTestGateway({ upstream });
    await query('{ chains { name } tokens { name } }');
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    upstream.plan('tokens', async (response) => {
      await released;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"tokens":[]}');
    });
    const text =
      '{ destinations(srcChainKey: "ethereum", srcToken: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48") { chainKey } }';
    const waiting = Array.from({ length: 20 }, (_nothing, nth) => query(`${text} # ${nth}`));
    while (upstream.count('tokens') < 2) await sleep(5);
    expect(await query('{ chain(chainKey: "base") { chainKey } }')).toEqual({
      data: { chain: { chainKey: 'base' } },
    });
    let looks = 0;
    let isDone = false;
    const count = async () => {
      while (!isDone) {
        await setImmediate();
        looks++;
      }
    };
    const counting = count();
    release();
    for (const answer of await Promise.all(waiting)) expect(answer).toEqual({ data: { destinations: [] } });
    isDone = true;
    await counting;
    // Each of them had a look of the event loop to itself.
    expect(looks).toBeGreaterThanOrEqual(20);
  });
});
