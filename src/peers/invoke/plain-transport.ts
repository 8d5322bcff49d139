import { z } from 'zod';
import type { RemoteFrame } from '../../client/index.ts';
import { readBodyOf } from '../../net/index.ts';
import {
  invalidConfiguration,
  isEncryptedOrLocal,
  type JsonValue,
  LegateError,
  type Message,
  parseJson,
  type Part,
  type SendMessageResponse,
  type TaskState,
  textOfValue,
} from '../../protocol/index.ts';
import { traceHeaders } from '../../telemetry/index.ts';
import type { Directory } from '../directory/directory.ts';
import { plainBinding } from '../directory/transport-kind.ts';
import type { Invocation, PeerTransport } from './invocation.ts';
import { RemoteTransport } from './remote-transport.ts';

const plainPart = z.looseObject({
  kind: z.string().nullish(),
  text: z.string().nullish(),
  data: z.json().optional(),
  mimeType: z.string().nullish(),
});
const plainMessage = z.looseObject({ parts: z.array(plainPart).max(1_024).nullish() });
const plainResult = z.looseObject({
  taskId: z.string().nullish(),
  contextId: z.string().nullish(),
  state: z.union([z.number(), z.string()]).nullish(),
  message: plainMessage.nullish(),
  artifacts: z
    .array(plainMessage.extend({ name: z.string().nullish(), description: z.string().nullish() }))
    .max(1_024)
    .nullish(),
  code: z.string().nullish(),
});
type PlainResult = z.infer<typeof plainResult>;

/** The target and the headers of a request. */
interface Address {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly fetching: typeof fetch;
}

/** An error: its `message` is a string, that of a result is an object. */
const plainError = z.looseObject({ code: z.string(), message: z.string() });

/** Indexed by the numbers that such agents use. */
const states: readonly TaskState[] = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
];
const largestAnswer = 16 * 1024 * 1024;

/**
 * A transport to agents that accept one request at `/tasks/send` and answer in the response: no streams,
 * no stored tasks. The answer to a question is a further request in the same context.
 */
export function plainTransport(directory: Directory): PeerTransport {
  return new RemoteTransport({
    transportKind: 'plain',
    async open(invocation) {
      const address = await addressOf(directory, invocation.agent);
      return {
        resume: 'none',
        send: ({ message }, { signal }) => exchange(invocation, address, message, signal),
        // The request is aborted with the invocation, and there is nothing else to stop.
        cancel: () => Promise.resolve(),
      };
    },
  });
}

async function addressOf(directory: Directory, agent: string): Promise<Address> {
  const peer = await directory.require(agent);
  const offered = peer.card.supportedInterfaces.find(
    ({ protocolBinding }) => protocolBinding === plainBinding,
  );
  if (offered === undefined) {
    throw new LegateError('PEER_UNREACHABLE', `${agent} no longer offers /tasks/send`);
  }
  const url = new URL(`${offered.url.replace(/\/+$/, '')}/tasks/send`);
  const credential = await directory.credential(agent);
  if (credential !== undefined && !isEncryptedOrLocal(url) && credential.allowsPlainHttp !== true) {
    throw invalidConfiguration(
      `credentials are not sent to ${url.origin} over an unencrypted connection: use https, or set allowsPlainHttp`,
    );
  }
  const headers: Record<string, string> = {
    ...traceHeaders(),
    'content-type': 'application/json',
    ...(credential !== undefined && { [credential.headerName]: credential.headerValue }),
  };
  return { url, headers, fetching: directory.cards.fetchFor(peer.origin) };
}

async function* exchange(
  invocation: Invocation,
  { url, headers, fetching }: Address,
  message: Message,
  signal: AbortSignal,
): AsyncGenerator<RemoteFrame> {
  const body = requestOf(invocation, message);
  const request = { method: 'POST', headers, body, signal, redirect: 'error' } as const;
  const response = await fetching(url, request);
  const text = await boundedText(response);
  if (!response.ok) {
    throw new LegateError('PEER_UNREACHABLE', `${invocation.agent} answered ${response.status}`);
  }
  yield { response: responseOf(invocation, parseJson(text)) };
}

function requestOf({ id, skill, remote }: Invocation, message: Message): string {
  const { skill: _skill, ...metadata } = message.metadata ?? {};
  return JSON.stringify({
    taskId: remote?.taskId ?? id,
    contextId: remote?.contextId ?? id,
    skill,
    message: { role: 'user', parts: message.parts.map(toPlainPart) },
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [name, textOfValue(value)]),
    ),
  });
}

function toPlainPart(part: Part): object {
  if (part.text !== undefined) return { kind: 'text', text: part.text };
  if (part.data !== undefined) {
    const mimeType = part.mediaType ?? 'application/json';
    return { kind: 'data', data: JSON.stringify(part.data), mimeType };
  }
  throw new LegateError(
    'CONTENT_TYPE_NOT_SUPPORTED',
    'this agent takes text and data only; put the address of a file into the text',
  );
}

function responseOf({ id, agent }: Invocation, json: unknown): SendMessageResponse {
  const error = plainError.safeParse(json);
  if (error.success) throw new LegateError('INTERNAL', `${agent}: ${error.data.message}`);
  const parsed = plainResult.safeParse(json);
  if (!parsed.success) {
    throw new LegateError(
      'PEER_INVALID',
      `${agent} answered with something that is not the result of a task`,
    );
  }
  const result = parsed.data;
  const contextId = result.contextId ?? id;
  const taskId = result.taskId ?? id;
  const messageParts = (result.message?.parts ?? []).map(fromPlainPart);
  const artifacts = (result.artifacts ?? []).map(({ name, description, parts }, index) => ({
    artifactId: `${taskId}-${index}`,
    parts: (parts ?? []).map(fromPlainPart),
    ...(typeof name === 'string' && { name }),
    ...(typeof description === 'string' && { description }),
  }));
  return {
    task: {
      id: taskId,
      contextId,
      status: {
        state: stateOf(result, agent),
        ...(messageParts.length > 0 && {
          message: { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts: messageParts },
        }),
      },
      ...(artifacts.length > 0 && { artifacts }),
    },
  };
}

function fromPlainPart({ text, data, mimeType }: z.infer<typeof plainPart>): Part {
  if (data === undefined || data === null) return { text: text ?? '' };
  const mediaType = mimeType ?? 'application/json';
  // Data is sent as a JSON text within the JSON.
  const value = typeof data === 'string' ? tryJson(data) : data;
  return { data: value, mediaType };
}

function stateOf({ state }: PlainResult, agent: string): TaskState {
  if (state === undefined || state === null) return 'TASK_STATE_COMPLETED';
  const found =
    typeof state === 'number'
      ? states[state]
      : states.find((each) => fold(each.slice('TASK_STATE_'.length)) === fold(state));
  if (found === undefined || found === 'TASK_STATE_SUBMITTED' || found === 'TASK_STATE_WORKING') {
    throw new LegateError('PEER_INVALID', `${agent} answered before its task was over`);
  }
  return found;
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}

function tryJson(text: string): JsonValue {
  try {
    return z.json().parse(parseJson(text));
  } catch {
    return text;
  }
}

async function boundedText(response: Response): Promise<string> {
  const { bytes, isCut } = await readBodyOf(response, largestAnswer);
  if (isCut) throw new LegateError('PEER_INVALID', 'the answer is too large');
  return bytes.toString('utf8');
}
