import {
  createServer,
  type IncomingMessage,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';

interface LocalServerOptions extends ServerOptions {
  /** 0 for any free port. */
  readonly port: number;
  /** @default '127.0.0.1' */
  readonly host?: string;
  /** The error message when the port is not available. */
  readonly refused: (cause: NodeJS.ErrnoException) => Error;
  /** Grace period for responses in flight on close, in milliseconds. @default 0 */
  readonly graceMs?: number;
}

/** A small HTTP server for the duration of a command. */
export interface LocalServer extends AsyncDisposable {
  readonly port: number;
}

export async function openLocalServer(
  listener: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
  { port, host = '127.0.0.1', refused, graceMs = 0, ...options }: LocalServerOptions,
): Promise<LocalServer> {
  const server = createServer(options, (request, response) => void listener(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(refused(cause)));
    server.listen(port, host, resolve);
  });
  const address = server.address();
  return {
    port: address !== null && typeof address === 'object' ? address.port : port,
    async [Symbol.asyncDispose]() {
      // Browsers open connections in advance: closes them after the grace period.
      const timer = setTimeout(() => server.closeAllConnections(), graceMs);
      await new Promise((resolve) => server.close(resolve));
      clearTimeout(timer);
    },
  };
}
