/**
 * The lower bound: `node:http` only, which parses the request, creates new ids and writes a response as
 * large as the others'. It stores and checks nothing.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Instruments } from './instruments.ts';

interface Request {
  readonly id: number;
  readonly method: string;
  readonly params: { readonly id?: string; readonly message?: { readonly parts: unknown } };
}

const kept = new Map<string, object>();

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => answer(request, pieces, response));
});

function answer(
  request: IncomingMessage,
  pieces: readonly Buffer[],
  response: ServerResponse,
): void {
  const { id, method, params } = JSON.parse(Buffer.concat(pieces).toString()) as Request;
  if (method === 'GetTask') return reply(response, id, kept.get(params.id ?? ''));
  const taskId = crypto.randomUUID();
  const contextId = crypto.randomUUID();
  const task = {
    id: taskId,
    contextId,
    status: { state: 'TASK_STATE_COMPLETED', timestamp: new Date().toISOString() },
    artifacts: [{ artifactId: crypto.randomUUID(), parts: params.message?.parts }],
    history: [{ ...params.message, contextId, taskId }],
  };
  if (request.headers.accept === 'text/event-stream') return stream(response, id, task);
  // Keeps the first tasks, for GetTask.
  if (kept.size < 1000) kept.set(task.id, task);
  reply(response, id, { task });
}

function reply(response: ServerResponse, id: number, result: object | undefined): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id, result });
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

type RawTask = { readonly [key in 'id' | 'contextId' | 'status' | 'artifacts']: unknown };

function stream(response: ServerResponse, id: number, task: RawTask): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const { id: taskId, contextId, status } = task;
  const [artifact] = task.artifacts as readonly unknown[];
  const submitted = { ...task, artifacts: [], status: { state: 'TASK_STATE_SUBMITTED' } };
  for (const result of [
    { task: submitted },
    { artifactUpdate: { taskId, contextId, artifact, append: false, lastChunk: true } },
    { statusUpdate: { taskId, contextId, status } },
  ]) {
    response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
  }
  response.end();
}

const instruments = new Instruments();
server.listen(0, '127.0.0.1', () => instruments.report((server.address() as AddressInfo).port));
