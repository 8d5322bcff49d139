import type { Task } from '../../src/protocol/index.ts';
import type { Replica } from './cluster.ts';

const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' };

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly task: Task;
  readonly error: { readonly details: readonly { readonly reason?: string }[] };
}

export interface Saying {
  readonly contextId?: string;
  readonly taskId?: string;
  readonly messageId?: string;
}

function body(text: string, { messageId = crypto.randomUUID(), ...more }: Saying, config: object) {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text }], ...more };
  return { message, configuration: config };
}

async function call(url: string, method: string, content?: object): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers,
    ...(content !== undefined && { body: JSON.stringify(content) }),
  });
  const text = await response.text();
  const answer = JSON.parse(text) as Partial<Answer> & Task;
  return {
    status: response.status,
    headers: response.headers,
    task: answer.task ?? answer,
    error: answer.error ?? { details: [] },
  };
}

/** Sends and waits for the answer. */
export function send(
  { url }: Replica,
  text: string,
  saying: Saying = {},
  config: object = {},
): Promise<Answer> {
  return call(`${url}/message:send`, 'POST', body(text, saying, config));
}

/** Sends and is told at once that the message was taken. */
export function leave(to: Replica, text: string, saying: Saying = {}): Promise<Answer> {
  return send(to, text, saying, { returnImmediately: true });
}

export async function getTask({ url }: Replica, id: string): Promise<Task> {
  return (await call(`${url}/tasks/${id}`, 'GET')).task;
}

export function cancel({ url }: Replica, id: string): Promise<Answer> {
  return call(`${url}/tasks/${id}:cancel`, 'POST', {});
}

export interface Frame {
  readonly id: number;
  readonly data: string;
}

/** The events of a stream, as they come. */
export async function* stream(response: Response): AsyncGenerator<Frame> {
  if (!response.ok || response.body === null) throw new Error(await response.text());
  let text = '';
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const frames = text.split('\n\n');
    text = frames.pop() ?? '';
    for (const frame of frames) {
      const id = /^id: (\d+)$/m.exec(frame)?.[1];
      const data = /^data: (.*)$/m.exec(frame)?.[1];
      if (id !== undefined && data !== undefined) yield { id: Number(id), data };
    }
  }
}

export async function subscribe(
  { url }: Replica,
  id: string,
  lastEventId?: number,
): Promise<AsyncGenerator<Frame>> {
  const last = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) };
  return stream(await fetch(`${url}/tasks/${id}:subscribe`, { headers: { ...headers, ...last } }));
}

export async function sendStream(
  { url }: Replica,
  text: string,
  saying: Saying = {},
): Promise<AsyncGenerator<Frame>> {
  const response = await fetch(`${url}/message:stream`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body(text, saying, {})),
  });
  return stream(response);
}

export function stateOf(task: Task): string {
  return task.status.state.slice('TASK_STATE_'.length);
}

/** The words of a task's first artifact. */
export function textOf(task: Task): string {
  return (task.artifacts?.[0]?.parts ?? []).map((part) => part.text ?? '').join('');
}
