import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { JsonObject, JsonValue } from '../protocol/index.ts';
import {
  finishReasonOf,
  pieces,
  type ScriptedAnswer,
  type ScriptedRequest,
  usageOf,
} from './script.ts';

/** A chat completions request as a script sees it. */
export function toRequest(body: JsonObject): ScriptedRequest {
  const messages = list(body['messages']).map((message) => ({
    role: text(field(message, 'role')),
    text: contentText(field(message, 'content')),
  }));
  const format = field(body['response_format'], 'json_schema');
  return {
    messages,
    lastUserText: messages.findLast((message) => message.role === 'user')?.text ?? '',
    promptText: messages.map((message) => message.text).join('\n'),
    tools: list(body['tools']).map((tool) => text(field(field(tool, 'function'), 'name'))),
    isStream: body['stream'] === true,
    responseSchema: field(format, 'schema') as JsonObject | undefined,
  };
}

export interface WireAnswer {
  readonly response: ServerResponse;
  readonly answer: ScriptedAnswer;
  readonly asked: ScriptedRequest;
  readonly body: JsonObject;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
}

/** Writes an answer in the form the request asked for. */
export async function writeAnswer(wire: WireAnswer): Promise<void> {
  if (wire.asked.isStream) return writeStream(wire);
  const { response, answer, asked, body } = wire;
  const whole = JSON.stringify({
    ...envelope(body, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: answer.text ?? null,
          ...(answer.reasoning !== undefined && { reasoning_content: answer.reasoning }),
          ...(answer.toolCalls !== undefined && { tool_calls: toolCalls(answer) }),
        },
        finish_reason: finishReasonOf(answer),
      },
    ],
    usage: wireUsage(answer, asked),
  });
  const length = Buffer.byteLength(whole);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  if (answer.disconnect === 'midway') {
    response.write(whole.slice(0, Math.floor(whole.length / 2)), () => response.destroy());
    return;
  }
  response.end(whole);
}

async function writeStream(wire: WireAnswer): Promise<void> {
  const { response, answer, asked, body, signal } = wire;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  response.flushHeaders();
  const deltas = toDeltas(answer);
  const stopAt = answer.disconnect === 'midway' ? Math.ceil(deltas.length / 2) : deltas.length;
  for (const delta of deltas.slice(0, stopAt)) {
    if (answer.chunkDelayMs !== undefined) {
      await delay(answer.chunkDelayMs, undefined, { signal }).catch(() => undefined);
    }
    if (signal.aborted) return;
    sendChunk(response, body, { choices: [{ index: 0, delta, finish_reason: null }] });
  }
  if (answer.disconnect === 'midway') {
    response.destroy();
    return;
  }
  sendChunk(response, body, {
    choices: [{ index: 0, delta: {}, finish_reason: finishReasonOf(answer) }],
  });
  if (field(body['stream_options'], 'include_usage') === true) {
    sendChunk(response, body, { choices: [], usage: wireUsage(answer, asked) });
  }
  response.end('data: [DONE]\n\n');
}

function toDeltas(answer: ScriptedAnswer): JsonObject[] {
  const deltas: JsonObject[] = [{ role: 'assistant', content: '' }];
  for (const piece of pieces(answer.reasoning ?? '')) deltas.push({ reasoning_content: piece });
  for (const piece of pieces(answer.text ?? '')) deltas.push({ content: piece });
  for (const [index, call] of toolCalls(answer).entries()) {
    const { name, arguments: input } = call.function;
    // The first piece names the call, the arguments follow in two pieces, as real services do.
    const middle = Math.floor(input.length / 2);
    const head = { index, id: call.id, type: 'function', function: { name, arguments: '' } };
    deltas.push({ tool_calls: [head] });
    for (const piece of [input.slice(0, middle), input.slice(middle)]) {
      deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  return deltas;
}

function toolCalls(answer: ScriptedAnswer) {
  return (answer.toolCalls ?? []).map((call, index) => ({
    id: call.id ?? `call_${index}`,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.input) },
  }));
}

function sendChunk(response: ServerResponse, body: JsonObject, chunk: JsonObject): void {
  const event = { ...envelope(body, 'chat.completion.chunk'), ...chunk };
  response.write(`data: ${JSON.stringify(event)}\n\n`);
}

function envelope(body: JsonObject, object: string): JsonObject {
  return { id: 'chatcmpl-scripted', object, created: 0, model: body['model'] ?? 'scripted' };
}

function wireUsage(answer: ScriptedAnswer, asked: ScriptedRequest): JsonObject {
  const { input, output } = usageOf(answer, asked);
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

function contentText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content;
  return list(content)
    .map((part) => text(field(part, 'text')))
    .join('');
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function field(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)[name]
    : undefined;
}
