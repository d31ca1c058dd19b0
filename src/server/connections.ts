/** Tracks the open connections and the memory that is reserved for them, and bounds their number. */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { clientOf } from '../http/client-address.js';
import type { Logger } from '../logger/logger.js';
import type { Metrics } from '../observability/metrics.js';
import { createFloodLimit } from '../observability/request-log.js';
import { clientWithMost } from '../scheduling/fair-queue.js';
import type { Holder, Release } from './byte-budget.js';

/** A connection with more pipelined requests is cut: each takes memory until it is answered. Browsers pipeline none. */
const MAX_UNANSWERED = 100;

/**
 * Tracks the connections of a server, and bounds their number. Beyond the limit, the client with the most connections
 * loses an idle one, so that it cannot keep out all others. If it has none, the new connection is closed.
 */
export function createConnections(server: Server, maxConnections: number, onCut: CutReport) {
  const open = new Map<Socket, Connection>();
  const byClient = new Map<string, Set<Connection>>();

  function remove(connection: Connection): void {
    const { socket, client } = connection;
    if (!open.delete(socket)) return;
    const siblings = byClient.get(client);
    siblings?.delete(connection);
    if (siblings?.size === 0) byClient.delete(client);
    for (const release of connection.releases) release();
  }

  function track(socket: Socket): Connection {
    const connection = new Connection(socket, onCut);
    const { client } = connection;
    open.set(socket, connection);
    byClient.set(client, (byClient.get(client) ?? new Set()).add(connection));
    socket.once('close', () => remove(connection));
    return connection;
  }

  /** Closes a connection to make room for one of this client. Returns false if none may be closed. */
  function evict(client: string): boolean {
    const [, most] = clientWithMost(byClient, ({ size }) => size) ?? [];
    // At a difference of only one, two clients would evict each other alternately.
    if (!most || most.size <= (byClient.get(client)?.size ?? 0) + 1) return false;
    const idle = [...most].find((connection) => connection.isIdle());
    if (!idle) return false;
    idle.socket.destroy();
    // Removed now, and not only at the close event: the new connection takes the place of this one at once.
    remove(idle);
    return true;
  }

  server.on('connection', (socket: Socket) => {
    const isFull = open.size >= maxConnections;
    if (isFull) onCut('too_many_connections', { maxConnections });
    if (isFull && !evict(clientOf(socket.remoteAddress))) socket.destroy();
    else track(socket);
  });

  return {
    of: (socket: Socket) => open.get(socket) ?? track(socket),
    /** Closes connections without a complete request head so far. Browsers open some in advance. */
    closeSilent() {
      for (const connection of open.values()) if (!connection.hasBegun) connection.socket.destroy();
    },
  };
}

/** One connection, its requests in progress, and its reservations of memory. */
export class Connection implements Holder {
  readonly client: string;
  /** Whether the head of a request was complete. */
  hasBegun = false;
  /** The response to the newest request, until it is sent: an idle connection must not keep a request in memory. */
  #newest: ServerResponse | undefined;
  #hasFailed = false;
  /** Return what this connection has reserved. Its end calls them. */
  readonly releases = new Set<Release>();
  #waiting = 0;
  /** One function for all responses: a new one for each would make a cache hit some per cent slower. */
  readonly #forget = () => {
    if (this.#newest?.destroyed) this.#newest = undefined;
  };

  constructor(
    readonly socket: Socket,
    readonly onCut: CutReport,
  ) {
    this.client = clientOf(socket.remoteAddress);
  }

  /** @returns the response that must be finished before this new one; undefined if this one can be sent at once */
  begin(response: ServerResponse): ServerResponse | undefined {
    const earlier = this.#newest;
    this.hasBegun = true;
    this.#newest = response;
    response.on('close', this.#forget);
    // Node assigns the socket to a response once all earlier ones have been sent.
    if (response.socket) return undefined;
    this.#waiting++;
    response.once('close', () => this.#waiting--);
    if (this.#waiting > MAX_UNANSWERED) this.cut('pipelining');
    return earlier;
  }

  /**
   * Handles input that could not be parsed. Calls `refuse` once all valid requests are answered: before that, a refusal
   * would be taken for one of their answers. Closes the connection if it cannot wait, as after a timeout (`isLate`).
   */
  fail(isLate: boolean, refuse: () => void): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const newest = this.#newest;
    if (this.isIdle() || !newest) refuse();
    else if (newest.req.complete && !isLate) newest.once('close', refuse);
    // The unreadable input is the body of the newest request. Refuse that request if all earlier ones were answered.
    else if (!newest.req.complete && newest.socket && !newest.headersSent) refuse();
    else this.socket.destroy();
  }

  cut(reason: CutReason): void {
    if (this.socket.destroyed) return;
    this.onCut(reason);
    this.socket.destroy();
  }

  isIdle(): boolean {
    return this.#newest === undefined || this.#newest.writableFinished;
  }
}

/** The reasons to close, refuse or not accept a connection, each with its message for the log. */
const CUT_MESSAGES = {
  too_many_connections: 'Closed connections: too many were open',
  pipelining: 'Closed connections with too many unanswered requests',
  slow_reader: 'Closed connections that did not read their response',
  response_bytes: 'Closed connections: unread responses took too much memory',
  request_bytes: 'Refused unfinished requests: they took too much memory',
  accept_failed: 'Could not accept connections',
} as const;

export type CutReason = keyof typeof CUT_MESSAGES;

/** Counts a cut, and logs it. In a flood, only some lines are written, each with its own `detail`. */
export type CutReport = (reason: CutReason, detail?: object) => void;

export function createCutReport(log: Logger, metrics?: Pick<Metrics, 'connectionCut'>): CutReport {
  const write = createFloodLimit((line: { readonly reason: CutReason }) =>
    log.warn(line, CUT_MESSAGES[line.reason]),
  );
  return (reason, detail) => {
    metrics?.connectionCut(reason);
    write(reason, { reason, ...detail });
  };
}
