import type { ServerResponse } from 'node:http';
import {
  authenticateRequest,
  type Channel,
  readJsonObject,
  type RouteCall,
  sendJson,
} from '../../http/index.ts';
import {
  idProblem,
  invalidParams,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type LegateError,
  statusOf,
  toPublicError,
} from '../../protocol/index.ts';
import { errorHeaders, type RequestLimits } from '../../service/index.ts';
import type { BotMessage } from '../conversation.ts';
import { Conversations } from './conversations.ts';
import { type ModelHolder, NoModelError } from './model-holder.ts';
import type { SenderAccess } from './sender-access.ts';

/**
 * `POST /webhooks/rest/webhook`: takes one user message and returns the assistant's messages. With `access`,
 * callers must authenticate.
 */
export function restChannel(models: ModelHolder, version: string, access?: SenderAccess): Channel {
  return {
    name: 'rest',
    sendError: failureSender(version),
    mount(host) {
      const conversations = new Conversations(host, models);
      for (const path of ['/webhooks/rest', '/webhooks/rest/']) {
        host.route('*', path, ({ response }) => reply(response, { status: 'ok' }));
      }
      host.route('POST', '/webhooks/rest/webhook', async (call) => {
        host.guard(call.request, call.response);
        const { request, response, query } = call;
        let senderOf = (requested = 'default'): string => requested;
        if (access !== undefined) {
          const caller = await authenticateRequest(host.service, request, response, query);
          senderOf = (requested) => access.senderOf(caller, requested);
        }
        await answer(conversations, host.service.limits, call, senderOf);
      });
    },
  };
}

async function answer(
  conversations: Conversations,
  limits: RequestLimits,
  { request, response, query }: RouteCall,
  senderOf: (requested?: string) => string,
): Promise<void> {
  const body = await readJsonObject(request, limits);
  const { metadata = {}, input_channel: channel = 'rest' } = body;
  const requested = body['sender'] ?? undefined;
  const sender = senderOf(requested === undefined ? undefined : requireText(requested, 'sender'));
  checkConversationId(sender, 'sender');
  const message = requireText(body['message'], 'message');
  const { traceparent, tracestate } = request.headers;
  const options = {
    channel: requireText(channel, 'input_channel'),
    metadata: requireObject(metadata ?? {}, 'metadata'),
    traceparent: traceparent?.toString(),
    tracestate: tracestate?.toString(),
  };
  if (query.get('stream') !== 'true') {
    const messages = await conversations.say(sender, message, options);
    return reply(
      response,
      messages.flatMap((said) => toRest(sender, said)),
    );
  }
  const leaving = new AbortController();
  response.once('close', () => leaving.abort());
  const { signal } = leaving;
  const start = (): void => {
    if (response.headersSent) return;
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  };
  await conversations.say(sender, message, { ...options, signal }, (said) => {
    const shown =
      'chunk' in said ? [{ recipient_id: sender, text: said.chunk }] : toRest(sender, said.message);
    start();
    for (const one of shown) response.write(`${JSON.stringify(one)}\n`);
  });
  start();
  response.end();
}

/** A message in Rasa's REST format. Blank lines split its text into several messages. */
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

export function requireObject(value: JsonValue, field: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw invalidParams({ field, description: 'must be a JSON object' });
}

export function requireText(value: JsonValue | undefined, field: string): string {
  if (typeof value === 'string') return value;
  throw invalidParams({ field, description: 'must be a text' });
}

/** Rejects conversation ids that stores can't save, as the A2A adapter does. */
export function checkConversationId(id: string, field: string): void {
  const description = idProblem(id);
  if (description !== undefined) throw invalidParams({ field, description });
}

export function reply(response: ServerResponse, value: unknown): void {
  sendJson(response, 200, JSON.stringify(value));
}

const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'NotAuthenticated',
  403: 'NotAuthorized',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  413: 'PayloadTooLarge',
  503: 'ServiceUnavailable',
};

/** Responds with an error in Rasa's format. */
export function failureSender(
  version: string,
): (response: ServerResponse, error: LegateError) => void {
  return (response, error) => {
    // The headers are sent: closing the connection is the only way to report the failure.
    if (response.headersSent) return void response.destroy();
    const { message, violations = [] } = toPublicError(error);
    const code = error instanceof NoModelError ? 409 : statusOf(error.code).http;
    const body = {
      version,
      status: 'failure',
      reason: reasons[code] ?? 'ServerError',
      message,
      details: Object.fromEntries(violations.map(({ field, description }) => [field, description])),
      help: null,
      code,
    };
    sendJson(response, code, JSON.stringify(body), errorHeaders(error));
  };
}
