import type { RequestTemplate } from './protocol.ts';

type Shape = Pick<RequestTemplate, 'before' | 'after'>;

const echoWords = 'What is the weather in Lisbon tomorrow, and shall I take an umbrella?';
const completed = 'TASK_STATE_COMPLETED';

/** A message with a new id; the response is its task. */
export function sendMessage(port: number, words: string = echoWords): RequestTemplate {
  return {
    port,
    accept: 'application/json',
    expects: completed,
    ...messageWith('SendMessage', words),
  };
}

/** A message with a new id; the response is a stream of events. */
export function streamMessage(port: number, words: string = echoWords): RequestTemplate {
  return {
    port,
    accept: 'text/event-stream',
    expects: completed,
    ...messageWith('SendStreamingMessage', words),
  };
}

/** A message whose task runs without a subscriber. */
export function sendAndLeave(port: number, words: string): RequestTemplate {
  return {
    port,
    accept: 'application/json',
    expects: 'TASK_STATE_',
    ...messageWith('SendMessage', words, { returnImmediately: true }),
  };
}

export function getTask(port: number, ids: readonly string[]): RequestTemplate {
  return {
    port,
    accept: 'application/json',
    expects: completed,
    values: ids,
    ...rpc('GetTask', (hole) => ({ id: hole })),
  };
}

export function listTasks(
  port: number,
  pageTokens: readonly string[],
  filters: object = {},
): RequestTemplate {
  return {
    port,
    accept: 'application/json',
    expects: '"nextPageToken"',
    values: pageTokens,
    ...rpc('ListTasks', (hole) => ({ ...filters, pageSize: 50, pageToken: hole })),
  };
}

/** One call outside the measured load. */
export async function call(port: number, method: string, parameters: object): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: parameters }),
  });
  const answer = (await response.json()) as { result?: unknown; error?: unknown };
  if (answer.result === undefined) {
    throw new Error(`${method} was answered with ${JSON.stringify(answer.error)}`);
  }
  return answer.result;
}

export function userMessage(messageId: string, words: string): object {
  return { messageId, role: 'ROLE_USER', parts: [{ text: words }] };
}

function messageWith(method: string, words: string, configuration?: object): Shape {
  return rpc(method, (hole) => ({ message: userMessage(hole, words), configuration }));
}

/** The body of a call, split where the value of each request is inserted. */
function rpc(method: string, parameters: (hole: string) => object): Shape {
  const hole = '<hole>';
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: parameters(hole) });
  const [before = '', after = ''] = body.split(hole);
  return { before, after };
}
