import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, createAnswerReader } from './answer-reader.js';
import type { Exchange } from './exchange.js';
import type { FuzzTarget } from './target.js';

/** The result of an exchange. */
export interface Outcome {
  readonly answers: readonly Answer[];
  /** A fault of the gateway that the answers themselves do not show, such as a missing answer. */
  readonly fault?: string;
}

export type Client = ReturnType<typeof createClient>;

/** CPU time of the gateway after which an answer counts as lost, in milliseconds. */
const HANG_CPU_MS = 10_000;
const LOOK_EVERY_MS = 100;
/** If the gateway was idle at this many checks in a row, no further answer is expected. */
const IDLE_LOOKS = 150;
/** The time between sending and cutting the connection, so that some bytes have been read. */
const CUT_AFTER_MS = 2;

/** Sends exchanges to one target, each on a new connection unless an earlier one is still open. */
export function createClient(target: FuzzTarget) {
  let idle: Socket | undefined;

  async function open(isFresh: boolean): Promise<Socket> {
    const kept = isFresh ? undefined : idle;
    if (kept) {
      idle = undefined;
      if (!kept.destroyed && kept.writable) return kept;
    }
    const socket = connect({ port: target.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.setNoDelay(true);
    await new Promise<void>((resolve) => {
      socket.once('connect', resolve);
      socket.once('error', () => resolve());
    });
    // Errors are ignored here: the answers that arrived before the connection ended decide whether it is a fault.
    socket.on('error', () => {});
    return socket;
  }

  async function send(exchange: Exchange): Promise<Outcome> {
    const socket = await open(exchange.request === undefined);
    if (exchange.ending === 'cut') {
      write(socket, exchange);
      await sleep(CUT_AFTER_MS);
      socket.destroy();
      await untilIdle(target);
      return { answers: [] };
    }
    const { outcome, isReusable } = await untilAnswered(socket, exchange, target);
    if (isReusable && exchange.request && !idle) idle = socket;
    else socket.destroy();
    return outcome;
  }

  return { send, close: () => idle?.destroy() };
}

/** Waits until the gateway is idle. */
export async function untilIdle(target: FuzzTarget): Promise<void> {
  const until = target.cpuMs() + HANG_CPU_MS;
  let looks = 0;
  while (looks < 3 && target.isAlive() && target.cpuMs() < until) {
    await sleep(3);
    looks = target.isIdle() ? looks + 1 : 0;
  }
}

interface Ended {
  readonly outcome: Outcome;
  readonly isReusable: boolean;
}

function untilAnswered(socket: Socket, exchange: Exchange, target: FuzzTarget): Promise<Ended> {
  const { methods, answersAtLeast, ending } = exchange;
  const reader = createAnswerReader(methods);
  const cpuBefore = target.cpuMs();
  let idleLooks = 0;
  return new Promise((resolve) => {
    const look = setInterval(() => {
      const cpuMs = target.cpuMs() - cpuBefore;
      if (!target.isAlive()) finish(false, 'The process ended');
      else if (cpuMs > HANG_CPU_MS) finish(false, `No answer within ${HANG_CPU_MS} ms of CPU time`);
      idleLooks = target.isIdle() ? idleLooks + 1 : 0;
      if (idleLooks > IDLE_LOOKS) finish(false, 'No answer, and the gateway has nothing to do');
    }, LOOK_EVERY_MS);

    function finish(isReusable: boolean, fault?: string): void {
      clearInterval(look);
      socket.off('data', onData).off('close', onClose).off('end', onEnd);
      resolve({ outcome: { answers: reader.answers, ...(fault && { fault }) }, isReusable });
    }
    function onData(bytes: Buffer): void {
      try {
        reader.push(bytes);
      } catch (error) {
        finish(false, `Malformed answer: ${error instanceof Error ? error.message : error}`);
        return;
      }
      if (ending !== 'wait' || reader.answers.length < methods.length) return;
      finish(reader.answers.at(-1)?.headers.get('connection') !== 'close');
    }
    function onEnd(): void {
      socket.end();
      onClose();
    }
    function onClose(): void {
      try {
        reader.end();
      } catch (error) {
        // A client that has half-closed its connection, or violated the protocol, need not get a whole answer.
        const isOwed = reader.answers.length < answersAtLeast;
        finish(false, isOwed ? `${error instanceof Error ? error.message : error}` : undefined);
        return;
      }
      const isOwed = reader.answers.length < answersAtLeast && !reader.answers.some(isLast);
      finish(false, isOwed ? 'The connection was closed without an answer' : undefined);
    }
    socket.on('data', onData).on('close', onClose).on('end', onEnd);
    if (socket.destroyed) onClose();
    else write(socket, exchange);
  });
}

/** Whether the gateway announced that it closes the connection. */
function isLast({ headers }: Answer): boolean {
  return headers.get('connection') === 'close';
}

function write(socket: Socket, { writes, ending }: Exchange): void {
  for (const bytes of writes) socket.write(bytes);
  if (ending === 'half-close') socket.end();
}
