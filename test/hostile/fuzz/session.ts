/** Runs exchanges against the built gateway, and reports their faults and their CPU time. */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { ERRORS, SERVER_ERRORS } from '../../../src/domain/error-codes.js';
import { demoChains, demoTokens } from '../../fixtures/demo.js';
import { generatedListings } from '../../fixtures/rows.js';
import { json } from '../../support/fake-upstream.js';
import { startTarget } from '../../support/hostile.js';
import { isIdle, megabytesOf } from '../../support/processes.js';
import { openRaw } from '../../support/raw-http.js';
import { plainOf, type Received, sendHttp } from '../../support/send-http.js';
import type { Exchange, PlainRequest, RawBytes } from './values.js';

const HOUR = '3600000';
/** After this time an answer counts as lost, in milliseconds. The gateway itself ends connections only after 30 s. */
const ANSWER_WITHIN_MS = 25_000;
const CUT_AFTER_MS = 2;

/** All codes but INTERNAL_SERVER_ERROR, which is always a fault. */
const { INTERNAL_SERVER_ERROR: _fault, ...codes } = { ...ERRORS, ...SERVER_ERRORS };
const CODES: ReadonlySet<unknown> = new Set(Object.keys(codes));

interface Outcome {
  readonly faults: readonly string[];
  readonly statuses: readonly number[];
  readonly cpuMs: number;
}

export type Session = Awaited<ReturnType<typeof openSession>>;

/** So few that operations which wait for the missing listing are often refused when some rows are already resolved. */
const TOKENS_WITHOUT_CHAINS = 100;
const LOW_MAX_COST = { MAX_COST: '5000' };

/** @param missing a listing that the upstream does not answer with rows, so that the gateway has no snapshot of it */
export async function openSession(tokenCount: number, missing?: 'chains' | 'tokens') {
  const generated = generatedListings(80, tokenCount);
  const tokens = [...demoTokens, ...generated.tokens].slice(0, missing ? TOKENS_WITHOUT_CHAINS : tokenCount);
  // Valid operations ask for rows of the demo.
  const listings = { chains: [...demoChains, ...generated.chains.slice(1)], tokens };
  const target = await startTarget({
    listings: missing ? { ...listings, [missing]: [] } : listings,
    // Without refreshes, because their CPU time would count as the cost of a request.
    env: {
      CHAINS_FRESH_MS: HOUR,
      TOKENS_FRESH_MS: HOUR,
      UPSTREAM_REQUESTS_PER_SECOND: '1000',
      ...(missing && LOW_MAX_COST),
    },
  });
  const { child, address, upstream } = target;
  const routes = json({ tokens: tokens.slice(0, 50) });
  upstream.plan('routes', () => {
    // The fake upstream stores each request. There are very many here, so they are removed.
    upstream.seen.length = 0;
    return routes;
  });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());

  const complaints: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    let rest = '';
    stream.on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      complaints.push(...lines.filter((line) => !/^\{"level":"(trace|debug|info|warn)"/.test(line)));
    });
  }
  const isIncomplete = missing !== undefined;
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const peakMb = () => megabytesOf(child.pid).most;
  let isHung = false;

  async function untilIdle(): Promise<void> {
    const until = performance.now() + ANSWER_WITHIN_MS;
    for (let looks = 0; looks < 3 && isAlive() && performance.now() < until; ) {
      await sleep(3);
      looks = isIdle(child.pid) ? looks + 1 : 0;
    }
  }

  function sendPlain({ method, target: path, headers, body = '' }: PlainRequest) {
    const bytes = Buffer.from(body, 'latin1');
    const names = headers.map(([name]) => name);
    const all = [...(names.includes('host') ? [] : [['host', 'gateway.test']]), ...headers];
    if (bytes.byteLength > 0) all.push(['content-length', String(bytes.byteLength)]);
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
    return sendHttp(address, { method, path, headers: all.flat(), body: bytes, agent, signal });
  }

  async function outcomeOfPlain(request: PlainRequest): Promise<Omit<Outcome, 'cpuMs'>> {
    try {
      const answer = await sendPlain(request);
      return { faults: faultsOf(answer, isIncomplete), statuses: [answer.status] };
    } catch (error) {
      // A request that Node cannot parse is refused with a body, also to HEAD, since its method is not known.
      if (request.method === 'HEAD' && String(error).includes('Data after'))
        return { faults: [], statuses: [] };
      isHung = String(error).startsWith('AbortError');
      return { faults: [`No answer, or a malformed one: ${error}`], statuses: [] };
    }
  }

  /** What the gateway sends until the connection ends; empty if `isCut`. */
  async function sendRaw({ writes, isCut, answersAtLeast }: RawBytes): Promise<string> {
    const { socket, received } = await openRaw(address);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    for (const part of writes) socket.write(part, 'latin1');
    if (isCut) {
      await sleep(CUT_AFTER_MS);
      socket.destroy();
      await untilIdle();
      return '';
    }
    if (answersAtLeast === 0) socket.end();
    const timer = setTimeout(() => {
      isHung = true;
      socket.destroy();
    }, ANSWER_WITHIN_MS);
    await closed;
    clearTimeout(timer);
    return received();
  }

  async function outcomeOfRaw(raw: RawBytes): Promise<Omit<Outcome, 'cpuMs'>> {
    const text = await sendRaw(raw);
    const faults: string[] = [];
    if (text !== '' && !text.startsWith('HTTP/1.1 '))
      faults.push(`Expected HTTP/1.1, got ${text.slice(0, 200)}`);
    // Interim responses, such as 100, do not count.
    const answers = text
      .split(/(?=HTTP\/1\.1 [2-5]\d\d )/)
      .filter((answer) => /^HTTP\/1\.1 [2-5]/.test(answer));
    for (const answer of answers) {
      if (!/^x-request-id: /im.test(answer))
        faults.push(`An answer without x-request-id: ${answer.slice(0, 300)}`);
      const isRefusal = answer.startsWith('HTTP/1.1 503') && (isIncomplete || answer.includes('OVERLOADED'));
      if (answer.startsWith('HTTP/1.1 5') && !isRefusal) faults.push(`A failure: ${answer.slice(0, 300)}`);
    }
    if (answers.length < raw.answersAtLeast)
      faults.push(`Expected ${raw.answersAtLeast} answers, got ${answers.length}`);
    if (isHung) faults.push('The connection was left open without an answer');
    return { faults, statuses: [] };
  }

  return {
    /** False if the process has ended, hangs, or has taken too much memory. */
    isUsable: (maxPeakMb: number) => isAlive() && !isHung && peakMb() <= maxPeakMb,
    untilIdle,
    peakMb,
    /** Sends these exchanges at once. The faults include those of the process. */
    async send(exchanges: readonly Exchange[]): Promise<Outcome> {
      const before = target.cpuMs();
      const outcomes = await Promise.all(
        exchanges.map((each) => ('writes' in each ? outcomeOfRaw(each) : outcomeOfPlain(each))),
      );
      const cpuMs = target.cpuMs() - before;
      const faults = outcomes.flatMap((outcome) => outcome.faults);
      // The log arrives on another channel than the answers, perhaps later. So wait for it after a fault.
      if (faults.length > 0) await untilIdle();
      faults.push(...complaints.splice(0).map((line) => `The process wrote ${line.slice(0, 1_000)}`));
      if (!isAlive()) faults.push('The process ended');
      return { faults, statuses: outcomes.flatMap(({ statuses }) => statuses), cpuMs };
    },
  };
}

function documentsOf(answer: Received): readonly unknown[] {
  // An answer to HEAD has no body.
  if (answer.body.byteLength === 0) return [];
  const text = plainOf(answer).toString();
  const [type = ''] = (answer.headers['content-type'] ?? '').split(';');
  if (/^application\/([\w-]+\+)?json$/.test(type)) return [JSON.parse(text)];
  if (type === 'text/event-stream')
    return [...text.matchAll(/(?:^|[\r\n])data: ([^\r\n]+)/g)].map(([, data = '']) => JSON.parse(data));
  if (type === 'multipart/mixed')
    return [...text.matchAll(/\r\n\r\n([^\r\n]+)\r\n---/g)].map(([, part = '']) => JSON.parse(part));
  return [];
}

interface Response {
  readonly errors?: readonly { message?: unknown; extensions?: { code?: unknown } }[];
}

/** @param isIncomplete whether a listing has no snapshot: then some paths answer with 503 */
function faultsOf(answer: Received, isIncomplete: boolean): readonly string[] {
  const { status, headers } = answer;
  const said = () => `${status} ${headers['content-type']}: ${answer.body.toString().slice(0, 300)}`;
  let documents: readonly (Response | null)[];
  try {
    documents = documentsOf(answer).flat() as readonly (Response | null)[];
  } catch (error) {
    return [`A body that is not what its headers say (${error}): ${said()}`];
  }
  const faults: string[] = [];
  if (!headers['x-request-id']) faults.push(`An answer without x-request-id: ${said()}`);
  const codes: unknown[] = [];
  for (const document of documents) {
    if (typeof document !== 'object' || !document) faults.push(`Expected a JSON object, got ${said()}`);
    const errors = document?.errors;
    if (errors === undefined) continue;
    const isList = Array.isArray(errors) && errors.length > 0;
    if (!isList || errors.some(({ message }) => typeof message !== 'string'))
      faults.push(`Expected "errors" to be a list of errors with messages, got ${said()}`);
    else codes.push(...errors.map(({ extensions }) => extensions?.code));
  }
  for (const code of codes) if (!CODES.has(code)) faults.push(`An unknown code ${code}: ${said()}`);
  const isExpected = status === 503 && (isIncomplete || codes.includes('OVERLOADED'));
  if (status >= 500 && !isExpected) faults.push(`A failure: ${said()}`);
  return faults;
}
