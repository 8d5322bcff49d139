import type { IncomingMessage, ServerResponse } from 'node:http';
import type { BotMessage } from '../../assistant/index.ts';
import { invalidParams, type JsonObject, LegateError, parseJson } from '../../protocol/index.ts';
import { readBody } from '../body.ts';
import { sendJson } from '../respond.ts';
import type { HttpLimits } from '../service.ts';
import { checkConversationId } from './api-body.ts';
import type { Conversations } from './conversations.ts';

/** `POST /webhooks/rest/webhook`: one message in, the assistant's messages out. */
export async function handleRestChannel(
  conversations: Conversations,
  limits: HttpLimits,
  request: IncomingMessage,
  response: ServerResponse,
  query: URLSearchParams,
): Promise<void> {
  if (request.method !== 'POST') {
    response.setHeader('allow', 'POST');
    throw new LegateError('METHOD_NOT_ALLOWED', `${request.method} is not possible here; use POST`);
  }
  const body = asObject(
    parseJson(await readBody(request, limits), { maxDepth: limits.maxJsonDepth }),
  );
  const { sender = 'default', message, metadata, input_channel: channel = 'rest' } = body;
  if (typeof sender !== 'string' || sender === '') throw required('sender', 'must be a text');
  checkConversationId(sender, 'sender');
  if (typeof message !== 'string') throw required('message', 'must be a text');
  if (typeof channel !== 'string') throw required('input_channel', 'must be a text');
  const { traceparent, tracestate } = request.headers;
  const options = {
    channel,
    metadata: asObject(metadata ?? {}),
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(typeof tracestate === 'string' && { tracestate }),
  };
  if (query.get('stream') !== 'true') {
    const messages = await conversations.say(sender, message, options);
    const shown = messages.flatMap((said) => toRest(sender, said));
    return sendJson(response, 200, JSON.stringify(shown));
  }
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  const { signal } = leaving;
  const begin = (): void => {
    if (response.headersSent) return;
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  };
  await conversations.stream(sender, message, { ...options, signal }, (said) => {
    const shown =
      'piece' in said ? [{ recipient_id: sender, text: said.piece }] : toRest(sender, said.message);
    begin();
    for (const one of shown) response.write(`${JSON.stringify(one)}\n`);
  });
  begin();
  response.end();
}

/** A text with blank lines in it is several messages. */
export function toRest(recipient: string, said: BotMessage): readonly JsonObject[] {
  const { text, image, attachment, custom, buttons, quickReplies, elements } = said;
  const recipient_id = recipient;
  const paragraphs = (text ?? '')
    .split(/\n[ \t]*\n/)
    .filter((paragraph) => paragraph.trim() !== '');
  const last = paragraphs.at(-1);
  const choices = buttons?.map(({ title, payload }) => ({ title, payload }));
  return [
    ...paragraphs.slice(0, -1).map((paragraph) => ({ recipient_id, text: paragraph })),
    ...(last === undefined
      ? []
      : [
          {
            recipient_id,
            text: last,
            ...(choices !== undefined && choices.length > 0 && { buttons: choices }),
            ...(quickReplies !== undefined && { quick_replies: quickReplies }),
          },
        ]),
    ...(image === undefined ? [] : [{ recipient_id, image }]),
    ...(attachment === undefined ? [] : [{ recipient_id, attachment }]),
    ...(elements === undefined ? [] : [{ recipient_id, elements }]),
    ...(custom === undefined ? [] : [{ recipient_id, custom }]),
  ];
}

function asObject(value: unknown): JsonObject {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw required('body', 'must be a JSON object');
}

function required(field: string, description: string) {
  return invalidParams({ field, description });
}
