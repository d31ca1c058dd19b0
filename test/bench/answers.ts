import { isDeepStrictEqual } from 'node:util';
import { ask, HEADERS, send } from './load.js';
import type { BareAnswers } from './servers/bare.js';
import type { Target } from './targets.js';
import { type Answer, facts, type Workload } from './workloads.js';

/** A question and its answer. */
export type Answered = readonly [body: string, answer: string];

/**
 * Each body of the workload with the server's answer.
 *
 * @throws Error if an answer differs from the rows of the upstream
 */
export async function rightAnswers(target: Target, workload: Workload): Promise<readonly Answered[]> {
  const answers: Answered[] = [];
  for (const [index, body] of workload.bodies.entries()) {
    const answer = await ask(target.url, body);
    if (!isDeepStrictEqual(facts(dataOf(answer) as Answer), workload.expected[index])) {
      throw new Error(`${target.name} answers ${workload.name} wrong: ${answer.slice(0, 500)}`);
    }
    answers.push([body, answer]);
  }
  return answers;
}

/**
 * Sends all questions of the first server to the others, and compares the answers.
 *
 * @throws Error if an answer differs in more than the time of a price
 */
export async function checkEqual(answers: readonly Answered[], others: readonly Target[]): Promise<void> {
  for (const [body, answer] of answers) {
    const expected = dataOf(answer);
    for (const { name, url } of others) {
      const came = await ask(url, body);
      if (!isDeepStrictEqual(dataOf(came), expected)) {
        throw new Error(`${name} answers ${body} otherwise: ${came.slice(0, 500)}`);
      }
    }
  }
}

/** Stores these answers in the bare server, with the content type that the gateway uses. */
export async function teach(bare: Target, gateway: Target, answers: readonly Answered[]): Promise<void> {
  const [question = ['', '']] = answers;
  const like = await send(gateway.url, { method: 'POST', headers: HEADERS, body: question[0] });
  const put: BareAnswers = { contentType: like.headers.get('content-type') ?? '', answers };
  await send(bare.url, { method: 'PUT', body: JSON.stringify(put) });
  for (const [body, answer] of answers) {
    if ((await ask(bare.url, body)) !== answer) throw new Error(`The bare server answers ${body} otherwise`);
  }
}

function dataOf(answer: string): unknown {
  const { data, errors } = JSON.parse(answer, (name, value) => {
    // Each server has fetched prices at a different time.
    if (name === 'asOf' && Number.isFinite(Date.parse(String(value)))) return 'some time';
    return value;
  }) as { data?: unknown; errors?: unknown };
  if (errors || !data) throw new Error(`Expected an answer without errors, got ${answer.slice(0, 500)}`);
  return data;
}
