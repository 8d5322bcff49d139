import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server';
import { toNodeHandler } from '../../net/index.ts';
import { sampleServer } from './sample-server.ts';

export interface HttpSample extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly calls: Record<string, number>;
  readonly requests: IncomingMessage[];
  close(): Promise<void>;
}

/** The sample server over HTTP. `guard` can reject a request with a status. */
export async function startHttpSample(
  options: {
    readonly port?: number;
    readonly guard?: (request: IncomingMessage) => number | undefined;
    readonly create?: (calls: Record<string, number>) => McpServer;
  } = {},
): Promise<HttpSample> {
  const { port = 0, guard, create = sampleServer } = options;
  const calls: Record<string, number> = {};
  const requests: IncomingMessage[] = [];
  const mcp = createMcpHandler(() => create(calls));
  const handle = toNodeHandler((request) => mcp.fetch(request));
  const server = createServer((request, response) => {
    requests.push(request);
    const status = guard?.(request);
    if (status !== undefined) {
      response.writeHead(status).end();
      return;
    }
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await mcp.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    port: address.port,
    calls,
    requests,
    close,
    [Symbol.asyncDispose]: close,
  };
}
