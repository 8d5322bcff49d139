import { createServer, type RequestListener, type ServerOptions } from 'node:http';
import type { AddressInfo } from 'node:net';

interface LocalServerOptions extends ServerOptions {
  /** 0 for any that is free. */
  readonly port: number;
  /** @default '127.0.0.1' */
  readonly host?: string;
  /** What is said where the port cannot be had. */
  readonly refused: (cause: NodeJS.ErrnoException) => Error;
  /** Milliseconds that answers under way have when it closes. @default 0 */
  readonly graceMs?: number;
}

/** A small server of a command, for as long as the command needs it. */
export interface LocalServer extends AsyncDisposable {
  readonly port: number;
}

export async function openLocalServer(
  listener: RequestListener,
  { port, host = '127.0.0.1', refused, graceMs = 0, ...options }: LocalServerOptions,
): Promise<LocalServer> {
  const server = createServer(options, listener);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(refused(cause)));
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      // Browsers open connections that they may never use; those are not waited for.
      const impatient = setTimeout(() => server.closeAllConnections(), graceMs);
      await new Promise((resolve) => server.close(resolve));
      clearTimeout(impatient);
    },
  };
}
