import type { Handler } from './handler.ts';
import { type HttpServer, openServer } from './http-server.ts';
import type { Drain } from './shut-down.ts';

/** What answers on a port. */
export interface Listener {
  readonly handler: Handler;
  /** From now on it is not ready. */
  leave(): void;
  readonly drain: Drain;
  close(): Promise<void>;
}

/** A port, and what answers on it. */
export interface Listening<T> extends Pick<HttpServer, 'url' | 'port' | 'server'> {
  readonly made: T;
  readonly close: () => Promise<void>;
}

/** Opens the port, then what answers on it; they are closed together. */
export async function listenFor<T extends Listener>(
  options: Parameters<typeof openServer>[0],
  open: (server: Pick<HttpServer, 'url' | 'isLocalOnly' | 'hostNames'>) => Promise<T>,
): Promise<Listening<T>> {
  const opened = await openServer(options);
  const { url, port, server, isLocalOnly: isLocal, hostNames } = opened;
  const made = await open({ url, isLocalOnly: isLocal, hostNames }).catch(
    async (error: unknown) => {
      await opened.close(async () => undefined);
      throw error;
    },
  );
  opened.handle(made.handler);
  const shutDownAll = async (): Promise<void> => {
    made.leave();
    await opened.leave();
    try {
      await opened.close((grace) => made.drain(grace));
    } finally {
      await made.close();
    }
  };
  let closed: Promise<void> | undefined;
  return { url, port, server, made, close: () => (closed ??= shutDownAll()) };
}
