import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import {
  invalidParams,
  isInterrupted,
  isTurnEnd,
  type JsonValue,
  type LegateError,
  toPublicError,
  statusOf,
  v1,
} from '../../protocol/index.ts';
import { admitStream, errorHeaders, serviceOperations } from '../../service/index.ts';
import type { Call, EventStream } from '../../tasks/index.ts';
import type { Channel, ChannelHost, RouteCall } from '../channel.ts';
import {
  addressOf,
  admitRequest,
  authenticateRequest,
  callOfRequest,
  readJsonObject,
} from '../request.ts';
import { sendJson } from '../respond.ts';
import { sendEvents } from '../sse.ts';
import { done, encodeChunk, UiMessageStream } from './ui-message-stream.ts';

/** The request body of `useChat`. Only the last message is new. */
const chatRequest = z.object({
  id: z.string(),
  trigger: z.string().exactOptional(),
  messages: z
    .array(
      z.object({
        id: z.string(),
        role: z.string(),
        parts: z.array(z.looseObject({ type: z.string() })),
      }),
    )
    .min(1),
});

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const filePart = z.object({
  type: z.literal('file'),
  url: z.string(),
  mediaType: z.string(),
  filename: z.string().exactOptional(),
});
const dataPart = z.object({ type: z.templateLiteral(['data-', z.string()]), data: z.json() });
const dataUrl = /^data:[^,]*;base64,(?<bytes>.*)$/s;

/**
 * Serves the agent as the backend of `useChat` of the AI SDK. A chat is a context, a user message is an
 * A2A message, and the answer is a UI message stream. If the last task of the chat is interrupted, the
 * message continues it. A reloaded page resumes the stream of its task.
 */
export function chatChannel(path: string): Channel {
  return {
    name: 'chat',
    sendError,
    mount(host) {
      host.route('POST', path, (call) => {
        host.guard(call.request, call.response);
        return answer(host, call, { isResumed: false }, (known) => start(host, call, known));
      });
      // `resume` of `useChat` reconnects here to a response in progress.
      host.route('GET', `${path}/{id}/stream`, (call) =>
        answer(host, call, { isResumed: true }, async (known) => {
          const last = await lastTask(host, call.params['id'] ?? '', known);
          if (last === undefined || isTurnEnd(last.state)) {
            return undefined;
          }
          return host.engine.subscribe({ id: last.id }, known);
        }),
      );
    },
  };
}

async function start(
  host: ChannelHost,
  { request: incoming }: RouteCall,
  call: Call,
): Promise<EventStream> {
  const parsed = chatRequest.safeParse(await readJsonObject(incoming, host.service.limits));
  const message = parsed.data?.messages.at(-1);
  if (!parsed.success || message?.role !== 'user') {
    const [issue] = parsed.error?.issues ?? [];
    throw invalidParams({
      field: issue?.path.join('.') ?? 'messages',
      description: issue?.message ?? 'must end with a message of the user',
    });
  }
  const { id: contextId, trigger } = parsed.data;
  const last = await lastTask(host, contextId, call);
  const parts = message.parts.flatMap(toPart);
  const request = v1.sendMessageRequest.decode({
    message: {
      // Regenerating needs a new id: the same id would be deduplicated.
      messageId: trigger === 'regenerate-message' ? crypto.randomUUID() : message.id,
      contextId,
      ...(last !== undefined && isInterrupted(last.state) && { taskId: last.id }),
      role: 'ROLE_USER',
      parts: parts.length > 0 ? parts : [{ text: '' }],
    },
  });
  return serviceOperations.sendStreamingMessage.perform(host.service, request, call);
}

async function answer(
  { service, closing }: ChannelHost,
  { request, response, query }: RouteCall,
  options: { readonly isResumed: boolean },
  open: (call: Call) => Promise<EventStream | undefined>,
): Promise<void> {
  const caller = await authenticateRequest(service, request, response, query);
  using permit = await admitRequest(service, request, response, caller);
  const operation = 'sendStreamingMessage';
  const stream = await open(
    callOfRequest(request, response, { caller, version: '1.0', operation }),
  );
  if (stream === undefined) return void response.writeHead(204).end();
  using _stream = admitStream(service, caller, addressOf(request), permit);
  const shown = new UiMessageStream(options);
  await sendEvents(response, stream, {
    encode: ({ body, isLast }) => shown.encode(body.value, isLast),
    encodeError: (error) =>
      encodeChunk({ type: 'error', errorText: toPublicError(error).message }) + done,
    logger: service.logger,
    keepAliveMs: service.limits.keepAliveMs,
    extraHeaders: { 'x-vercel-ai-ui-message-stream': 'v1' },
    closing,
  });
}

/** The most recently changed task of a chat. */
async function lastTask({ engine }: ChannelHost, contextId: string, call: Call) {
  const { tasks } = await engine.listTasks({ contextId, pageSize: 1 }, call);
  const [task] = tasks;
  return task === undefined ? undefined : { id: task.id, state: task.status.state };
}

/** Converts text, data and files to A2A parts. Drops steps, reasoning and tool calls of earlier answers. */
function toPart(part: unknown): readonly JsonValue[] {
  const text = textPart.safeParse(part);
  if (text.success) return [{ text: text.data.text }];
  const data = dataPart.safeParse(part);
  if (data.success) return [{ data: data.data.data }];
  const file = filePart.safeParse(part);
  if (!file.success) return [];
  const { url, mediaType, filename } = file.data;
  const raw = dataUrl.exec(url)?.groups?.['bytes'];
  const named = filename === undefined ? {} : { filename };
  return [raw === undefined ? { url, mediaType, ...named } : { raw, mediaType, ...named }];
}

/** `useChat` shows the text of an error response unchanged. */
function sendError(response: ServerResponse, error: LegateError): void {
  const { code, message } = toPublicError(error);
  const text = JSON.stringify({ error: message, code });
  sendJson(response, statusOf(code).http, text, errorHeaders(error));
}
