/** Checks that two servers of the bench give equal answers, so that their speeds can be compared. */
import { isDeepStrictEqual } from 'node:util';
import { ask } from './load.js';
import type { Target } from './processes.js';

/**
 * Sends these bodies to both servers, and compares the answers.
 *
 * @throws Error if an answer has errors, or differs in more than the time of a price
 */
export async function checkEqual(bodies: readonly string[], one: Target, other: Target): Promise<void> {
  for (const body of bodies) {
    const [expected, got] = [await dataOf(one, body), await dataOf(other, body)];
    if (!isDeepStrictEqual(got, expected)) {
      throw new Error(
        `${other.name} answers ${body} otherwise than ${one.name}: ${JSON.stringify(got).slice(0, 500)}`,
      );
    }
  }
}

async function dataOf({ name, url }: Target, body: string): Promise<object> {
  const answer = await ask(url, body);
  // Each server has fetched prices at a different time.
  const timeless = (key: string, value: unknown) => (key === 'asOf' ? Boolean(value) : value);
  const { data, errors } = JSON.parse(answer, timeless) as { data?: object; errors?: unknown };
  if (errors || !data)
    throw new Error(`Expected an answer of ${name} without errors, got ${answer.slice(0, 500)}`);
  return data;
}
