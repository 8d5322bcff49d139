import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request, for the script of a raw agent. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The body as received. */
  readonly text: string;
  readonly body: { readonly id?: unknown; readonly method?: string; readonly params?: object };
  readonly response: ServerResponse;
  readonly url: string;
}

export interface RawAgent extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly RawRequest[];
}

/** A server that returns exactly what a script says, valid or not. */
export async function rawAgent(script: (request: RawRequest) => void): Promise<RawAgent> {
  const requests: RawRequest[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const seen: RawRequest = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        text,
        body: parsed(text),
        response,
        url,
      };
      requests.push(seen);
      script(seen);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function parsed(text: string): RawRequest['body'] {
  try {
    return JSON.parse(text === '' ? '{}' : text) as RawRequest['body'];
  } catch {
    return {};
  }
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(value));
}

/** The response to a JSON-RPC request. */
export function result({ body, response }: RawRequest, value: unknown): void {
  sendJson(response, { jsonrpc: '2.0', id: body.id, result: value });
}

/** A valid card with one interface; `more` can make it invalid. */
export function rawCard(url: string, more: object = {}): object {
  return {
    name: 'Raw',
    description: 'Does what its script says',
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 'S', description: 'd', tags: ['t'] }],
    ...more,
  };
}
