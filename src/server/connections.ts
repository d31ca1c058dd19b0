import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ByteBudget, Hold } from './byte-budget.js';
import type { CutReason } from './cut-report.js';

/** One open connection. */
export interface Connection {
  /** The address of its other end. */
  readonly client: string;
  /**
   * Notes a further request.
   *
   * @returns the response that must be finished before this one; undefined where it can be sent at once
   */
  begin(response: ServerResponse): ServerResponse | undefined;
  /**
   * Calls back when the earlier response has been sent, and in another turn of the event loop, so that one client's
   * pipelined requests do not run in one go. Never, where the connection is closed before.
   */
  after(earlier: ServerResponse, act: () => void): void;
  /** Holds bytes in a budget until they are released, and no longer than the connection is open. */
  hold(budget: ByteBudget, buffer: object, bytes: number, cut: () => void): Hold;
  /**
   * Calls back once, when something came that is no request: after the response to the last sound one, so that it
   * is not taken for that. Further calls do nothing.
   *
   * @param isLate whether a request did not come in time; nobody waits any longer for that
   */
  fail(isLate: boolean, refuse: () => void): void;
  /** Closes it at once. */
  cut(reason: CutReason): void;
}

/** All open connections. */
export interface Connections {
  of(socket: Socket): Connection;
  /** Closes those that have not sent a whole request head yet; browsers open some ahead of need. */
  closeSilent(): void;
}

/** What {@link createConnections} takes. */
export interface ConnectionsOptions {
  readonly maxConnections: number;
  readonly onCut: (reason: CutReason, detail?: object) => void;
}

/** A client that pipelines more requests than this is cut off: each takes memory until its turn comes. */
const MAX_UNANSWERED = 100;

/**
 * Follows the connections of a server, and bounds how many there are. Beyond the bound the client with the most
 * connections loses an idle one, so that one client cannot keep out all others; where that is the client that
 * connects, the new connection is closed.
 */
export function createConnections(server: Server, options: ConnectionsOptions): Connections {
  const { maxConnections, onCut } = options;
  const open = new Map<Socket, OpenConnection>();
  const byClient = new Map<string, Set<OpenConnection>>();

  function remove(connection: OpenConnection): void {
    const { socket, client } = connection;
    if (!open.delete(socket)) return;
    const siblings = byClient.get(client);
    siblings?.delete(connection);
    if (siblings?.size === 0) byClient.delete(client);
    connection.release();
  }

  function follow(socket: Socket): OpenConnection {
    const connection = new OpenConnection(socket, onCut);
    const { client } = connection;
    open.set(socket, connection);
    const siblings = byClient.get(client) ?? new Set();
    byClient.set(client, siblings.add(connection));
    socket.once('close', () => remove(connection));
    return connection;
  }

  /** Makes room for a connection of this client. */
  function evict(client: string): boolean {
    let most: Set<OpenConnection> | undefined;
    for (const siblings of byClient.values()) if (!most || siblings.size > most.size) most = siblings;
    // A difference of one would have two clients evict each other in turn.
    if (!most || most.size <= (byClient.get(client)?.size ?? 0) + 1) return false;
    for (const connection of most) {
      if (!connection.isIdle()) continue;
      connection.socket.destroy();
      // Its place is free now, and not when the socket says so.
      remove(connection);
      return true;
    }
    return false;
  }

  server.on('connection', (socket: Socket) => {
    if (open.size >= maxConnections) {
      onCut('too_many_connections', { maxConnections });
      if (!evict(socket.remoteAddress ?? '')) {
        socket.destroy();
        return;
      }
    }
    follow(socket);
  });

  return {
    of: (socket) => open.get(socket) ?? follow(socket),
    closeSilent() {
      for (const connection of open.values()) if (connection.isSilent) connection.socket.destroy();
    },
  };
}

class OpenConnection implements Connection {
  readonly client: string;
  isSilent = true;
  #newest: ServerResponse | undefined;
  #hasFailed = false;
  readonly #holds = new Set<Hold>();
  #waiting = 0;

  constructor(
    readonly socket: Socket,
    readonly onCut: (reason: CutReason) => void,
  ) {
    this.client = socket.remoteAddress ?? '';
  }

  begin(response: ServerResponse): ServerResponse | undefined {
    const earlier = this.#newest;
    this.#newest = response;
    this.isSilent = false;
    // It has the socket where nothing is to be sent before it.
    if (response.socket) return undefined;
    this.#waiting++;
    response.once('close', () => this.#waiting--);
    if (this.#waiting > MAX_UNANSWERED) this.cut('pipelining');
    return earlier;
  }

  after(earlier: ServerResponse, act: () => void): void {
    earlier.once('close', () => {
      setImmediate(() => {
        if (!this.socket.destroyed) act();
      });
    });
  }

  hold(budget: ByteBudget, buffer: object, bytes: number, cut: () => void): Hold {
    const hold = budget.hold(this.client, buffer, bytes, cut);
    const release = () => {
      this.#holds.delete(held);
      hold.release();
    };
    const held: Hold = { resize: hold.resize, release };
    this.#holds.add(held);
    return held;
  }

  fail(isLate: boolean, refuse: () => void): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const newest = this.#newest;
    if (this.isIdle() || !newest) refuse();
    else if (newest.req.complete && !isLate) newest.once('close', refuse);
    // The body of the newest request is what cannot be read: that request is what is refused, if it is its turn.
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

  release(): void {
    for (const hold of this.#holds) hold.release();
  }
}
