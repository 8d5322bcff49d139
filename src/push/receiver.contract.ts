import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One call as a receiver saw it. */
export interface ReceivedCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A webhook receiver on 127.0.0.1, for tests and benchmarks. */
export interface Receiver extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly calls: readonly ReceivedCall[];
  /** Connections accepted so far. */
  readonly connections: () => number;
}

export type Respond = (call: ReceivedCall, response: ServerResponse, index: number) => void;

/** Answers 204 unless told otherwise. */
export async function startReceiver(
  respond: Respond = (_call, response) => void response.writeHead(204).end(),
  createWith: (listener: (request: IncomingMessage, response: ServerResponse) => void) => Server = (
    listener,
  ) => createServer(listener),
): Promise<Receiver> {
  const calls: ReceivedCall[] = [];
  let connections = 0;
  const server = createWith((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const call = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      calls.push(call);
      respond(call, response, calls.length - 1);
    });
  });
  server.on('connection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    calls,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
