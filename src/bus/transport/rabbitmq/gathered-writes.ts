import { Socket } from 'node:net';
import type { Connection } from 'rabbitmq-client';

/**
 * Sends what is published in one go as one piece: the library writes each message to the socket by
 * itself, and each such write costs us a call of the system and the broker a look at its socket.
 *
 * - **open**: messages go out as they are written.
 * - **gathering**: they wait in the socket until the work at hand is done, which is before anything
 *   else is read or any timer runs.
 */
export class GatheredWrites {
  readonly #connection: Connection;
  #gathering: Socket | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Call before a message is written. Says whether it will wait for others: where the library keeps
   * its socket in another place than we know, messages go out one by one, as they would without us.
   */
  begin(): boolean {
    const socket: unknown = Reflect.get(this.#connection, '_socket');
    if (!(socket instanceof Socket)) return false;
    // A connection that was lost meanwhile has another socket.
    if (this.#gathering === socket) return true;
    this.#gathering = socket;
    socket.cork();
    process.nextTick(() => this.#end(socket));
    return true;
  }

  #end(socket: Socket): void {
    if (this.#gathering === socket) this.#gathering = undefined;
    socket.uncork();
  }
}
