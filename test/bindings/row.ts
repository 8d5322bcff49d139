import { vi } from 'vitest';
import type { Transport } from '../../src/client/transport.ts';
import type {
  LegateError,
  Message,
  SendMessageConfiguration,
  SendMessageRequest,
  StreamResponse,
  Task,
} from '../../src/protocol/index.ts';
import type { ServerKind, TestServer } from './servers.ts';

/** Where a row runs: its server, and a place for webhooks. */
export interface Stage {
  readonly server: TestServer;
  readonly hook: string;
}

/** Why a binding has no part in a row. */
export type Without = { readonly [binding: string]: string };

export interface Row {
  /** @default 'full' */
  readonly server?: ServerKind;
  readonly run: (through: Transport, stage: Stage) => Promise<unknown>;
  readonly without?: Without;
}

export interface ResultRow extends Row {
  /** What JSON-RPC 1.0 must answer, lest all be wrong together. */
  readonly expected: unknown;
}

export interface ErrorRow extends Row {
  readonly code: LegateError['code'];
}

export const in03Grpc = (why: string): Without => ({ 'gRPC 0.3': why });
export const in03 = (why: string): Without => ({
  'JSON-RPC 0.3': why,
  'REST 0.3': why,
  'gRPC 0.3': why,
});
export const in1x = (why: string): Without => ({
  'JSON-RPC 1.0': why,
  'REST 1.0': why,
  'gRPC 1.0': why,
});
export const noList = in03Grpc('the service a2a.v1 has no list of tasks');
/** Whether a way to the server has a list of tasks. */
export const hasList = ({ interface: { protocolBinding, protocolVersion } }: Transport): boolean =>
  protocolBinding !== 'GRPC' || protocolVersion !== '0.3';
export const noTenants = in03('0.3 has no tenants');

// What rows say.

export const say = (text: string, more: Partial<Message> = {}): Message => ({
  messageId: crypto.randomUUID(),
  role: 'ROLE_USER',
  parts: [{ text }],
  ...more,
});
export const send = (
  through: Transport,
  text: string,
  more: Partial<Message> = {},
  configuration?: SendMessageConfiguration,
) =>
  through.call(
    'sendMessage',
    { message: say(text, more), ...(configuration && { configuration }) },
    {},
  );
export const taskOf = async (answer: ReturnType<typeof send>): Promise<Task> => {
  const response = await answer;
  if (!('task' in response)) throw new Error('the answer is not a task');
  return response.task;
};
/** Resolves in another millisecond: tasks are listed by the time of their change. */
export async function anotherTime(): Promise<void> {
  const before = Date.now();
  await vi.waitUntil(() => Date.now() > before, { interval: 1 });
}
export const immediately = { returnImmediately: true };
export const eventsOf = async (
  through: Transport,
  request: SendMessageRequest,
): Promise<StreamResponse[]> => {
  const frames = await Array.fromAsync(await through.stream('sendStreamingMessage', request, {}));
  return frames.map(({ response }) => response);
};
/** Opens a stream and reads its first event; `rest` reads on to its end. */
export const openStream = async (
  through: Transport,
  request: SendMessageRequest,
): Promise<{ first: StreamResponse; rest: () => Promise<StreamResponse[]> }> => {
  const stream = await through.stream('sendStreamingMessage', request, {});
  const frames = stream[Symbol.asyncIterator]();
  const { value, done } = await frames.next();
  if (done === true) throw new Error('the stream has no event');
  const rest = async (): Promise<StreamResponse[]> => {
    const events: StreamResponse[] = [];
    for (let next = await frames.next(); next.done !== true; next = await frames.next()) {
      events.push(next.value.response);
    }
    return events;
  };
  return { first: value.response, rest };
};
export const subscribe = (through: Transport, id: string) =>
  through.stream('subscribeToTask', { id }, {});
export const as = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
export const finished = (state: string) => ({ task: { status: { state } } });

export async function codeOf(run: () => Promise<unknown>): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return (error as LegateError).code ?? error;
  }
  return 'no error';
}
