import { differenceOf, faultsOf, rewritten } from './checks.js';
import { type Client, createClient, type Outcome, untilIdle } from './client.js';
import type { Exchange } from './exchange.js';
import { type FuzzTarget, type FuzzTargetOptions, startFuzzTarget } from './target.js';

/** The verdict on one exchange. */
export interface Verdict {
  /** The faults of the answers, and of the process and its log during the exchange. */
  readonly faults: readonly string[];
  /** CPU time of the main thread from sending to the last answer, in milliseconds. */
  readonly cpuMs: number;
}

/** Options of {@link openSession}. */
export interface SessionOptions extends FuzzTargetOptions {
  /** Called with the status of each answer. */
  readonly onStatus?: (status: number) => void;
}

const NO_ANSWER = 'No answer';

/** Starts a gateway and prepares to send requests. A process that ended or hangs is replaced by a new one. */
export async function openSession(options: SessionOptions) {
  const { onStatus = () => {} } = options;
  let target: FuzzTarget = await startFuzzTarget(options);
  let client: Client = createClient(target);

  function judgeAnswers({ answers, fault }: Outcome, { methods }: Exchange): string[] {
    for (const { status } of answers) onStatus(status);
    const faults = answers.flatMap((answer, nth) => faultsOf(answer, methods[nth] ?? 'GET'));
    return fault ? [fault, ...faults] : faults;
  }

  /** The faults of the process since the last call. */
  function judgeProcess(): string[] {
    const said = target.takeComplaints().join('\n').slice(0, 2_000);
    if (!target.isAlive()) return [`The process ended: ${said}`];
    return said === '' ? [] : [`Said: ${said}`];
  }

  async function replaceIfLost(faults: readonly string[]): Promise<void> {
    if (target.isAlive() && !faults.some((fault) => fault.startsWith(NO_ANSWER))) return;
    client.close();
    await target.stop();
    target = await startFuzzTarget(options);
    client = createClient(target);
  }

  async function judge(exchange: Exchange, { isCompared = false } = {}): Promise<Verdict> {
    const before = target.cpuMs();
    const outcome = await client.send(exchange);
    const cpuMs = target.cpuMs() - before;
    const faults = judgeAnswers(outcome, exchange);
    const [answer] = outcome.answers;
    if (isCompared && exchange.operation && answer && faults.length === 0) {
      const [other] = (await client.send(rewritten(exchange.operation))).answers;
      const difference = other && differenceOf(answer, other);
      if (difference) faults.push(difference);
    }
    // The log arrives on another channel than the answers, perhaps later. So wait for it after a fault.
    if (faults.length > 0) await untilIdle(target);
    faults.push(...judgeProcess());
    await replaceIfLost(faults);
    return { faults, cpuMs };
  }

  async function judgeBurst(exchanges: readonly Exchange[]): Promise<readonly (readonly string[])[]> {
    const judged = await Promise.all(
      exchanges.map(async (exchange) => {
        const own = createClient(target);
        const outcome = await own.send(exchange);
        own.close();
        return judgeAnswers(outcome, exchange);
      }),
    );
    await untilIdle(target);
    judged.at(-1)?.push(...judgeProcess());
    await replaceIfLost(judged.flat());
    return judged;
  }

  return {
    judge,
    /** Sends all exchanges at once, on separate connections. The last verdict includes the faults of the process. */
    judgeBurst,
    untilIdle: () => untilIdle(target),
    /** The peak of resident memory of the current process, in megabytes. */
    peakMb: () => target.peakMb(),
    async close() {
      client.close();
      await target.stop();
    },
  };
}
