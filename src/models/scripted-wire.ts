import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../protocol/index.ts';
import { sleep, until } from '../time/index.ts';
import type { ScriptedAnswer, ScriptedRequest, ScriptPlayer } from './script.ts';

const content = z
  .union([
    z.string(),
    z
      .array(z.object({ text: z.string().catch('') }))
      .transform((parts) => parts.map(({ text }) => text).join('')),
  ])
  .catch('');
const chatRequest = z.object({
  model: z.string().catch('scripted'),
  messages: z
    .array(
      z
        .object({ role: z.string(), content })
        .transform(({ role, content: text }) => ({ role, text })),
    )
    .catch([]),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).catch([]),
  stream: z.boolean().catch(false),
  stream_options: z.object({ include_usage: z.boolean() }).optional().catch(undefined),
  response_format: z
    .object({ json_schema: z.object({ schema: z.custom<JsonObject>(isJsonObject) }) })
    .optional()
    .catch(undefined),
});
type ChatRequest = z.infer<typeof chatRequest>;

/** A chat completions request as a script sees it. */
function toRequest({
  messages,
  tools,
  stream,
  response_format: format,
}: ChatRequest): ScriptedRequest {
  return {
    messages,
    lastUserText: messages.findLast(({ role }) => role === 'user')?.text ?? '',
    promptText: messages.map(({ text }) => text).join('\n'),
    tools: tools.map((tool) => tool.function.name),
    isStream: stream,
    responseSchema: format?.json_schema.schema,
  };
}

/**
 * Answers a chat completions request from a script, as a service does. Rejects like `fetch` if the
 * connection breaks or the caller aborts.
 */
export async function answerFromScript(
  player: ScriptPlayer,
  body: JsonObject,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const request = chatRequest.parse(body);
  const asked = toRequest(request);
  const answer = await player.next(asked);
  if (answer.delayMs !== undefined) await sleep(answer.delayMs, signal);
  if (answer.hang === true) await until(new Promise<never>(() => {}), signal);
  if (answer.disconnect === 'before') throw brokenConnection();
  if (answer.error !== undefined) {
    const { status, message = `scripted status ${status}`, headers } = answer.error;
    return errorResponse(status, message, headers);
  }
  if (answer.rawBody !== undefined) return response(answer.rawBody, 'application/json');
  const sent = { answer, asked, request };
  if (asked.isStream) {
    return response(streamOf(events(sent, signal)), 'text/event-stream');
  }
  const text = wholeAnswer(sent);
  if (answer.disconnect !== 'midway') return response(text, 'application/json');
  return response(streamOf(cutOff(text)), 'application/json');
}

export function errorResponse(
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json(
    { error: { message, type: 'scripted', code: status } },
    { status, headers: { ...headers } },
  );
}

function response(body: BodyInit, type: string): Response {
  return new Response(body, { headers: { 'content-type': type } });
}

function brokenConnection(): TypeError {
  return new TypeError('fetch failed', { cause: new Error('the scripted connection broke') });
}

interface Sent {
  readonly answer: ScriptedAnswer;
  readonly asked: ScriptedRequest;
  readonly request: ChatRequest;
}

function wholeAnswer({ answer, asked, request }: Sent): string {
  return JSON.stringify({
    ...envelope(request, 'chat.completion'),
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
}

async function* cutOff(text: string): AsyncGenerator<string> {
  yield text.slice(0, Math.floor(text.length / 2));
  throw brokenConnection();
}

async function* events(
  { answer, asked, request }: Sent,
  signal: AbortSignal | undefined,
): AsyncGenerator<string> {
  const event = (data: JsonObject): string =>
    `data: ${JSON.stringify({ ...envelope(request, 'chat.completion.chunk'), ...data })}\n\n`;
  const deltas = toDeltas(answer);
  const isCut = answer.disconnect === 'midway';
  for (const delta of isCut ? deltas.slice(0, Math.ceil(deltas.length / 2)) : deltas) {
    if (answer.chunkDelayMs !== undefined) await sleep(answer.chunkDelayMs, signal);
    yield event({ choices: [{ index: 0, delta, finish_reason: null }] });
  }
  if (isCut) throw brokenConnection();
  yield event({ choices: [{ index: 0, delta: {}, finish_reason: finishReasonOf(answer) }] });
  if (request.stream_options?.include_usage === true) {
    yield event({ choices: [], usage: wireUsage(answer, asked) });
  }
  yield 'data: [DONE]\n\n';
}

function streamOf(texts: AsyncGenerator<string>): ReadableStream {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const next = await texts.next();
      if (next.done === true) controller.close();
      else controller.enqueue(encoder.encode(next.value));
    },
    async cancel() {
      await texts.return(undefined);
    },
  });
}

function toDeltas(answer: ScriptedAnswer): JsonObject[] {
  const deltas: JsonObject[] = [{ role: 'assistant', content: '' }];
  for (const chunk of chunks(answer.reasoning ?? '')) deltas.push({ reasoning_content: chunk });
  for (const chunk of chunks(answer.text ?? '')) deltas.push({ content: chunk });
  for (const [index, call] of toolCalls(answer).entries()) {
    const { name, arguments: input } = call.function;
    // The first chunk names the call, the arguments follow in two chunks, as real services do.
    const middle = Math.floor(input.length / 2);
    const head = { index, id: call.id, type: 'function', function: { name, arguments: '' } };
    deltas.push({ tool_calls: [head] });
    for (const chunk of [input.slice(0, middle), input.slice(middle)]) {
      deltas.push({ tool_calls: [{ index, function: { arguments: chunk } }] });
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

function envelope({ model }: ChatRequest, object: string): JsonObject {
  return { id: 'chatcmpl-scripted', object, created: 0, model };
}

/** Splits text as a model streams it: words with the space before them. */
function chunks(text: string): string[] {
  return text.match(/\s*\S+|\s+$/g) ?? [];
}

function finishReasonOf({ finishReason, toolCalls: calls = [] }: ScriptedAnswer): string {
  return finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop');
}

/** Estimates four characters per token. */
function wireUsage(
  { text = '', toolCalls: calls = [], usage }: ScriptedAnswer,
  asked: ScriptedRequest,
) {
  const made = text.length + JSON.stringify(calls).length - 2;
  const input = usage?.input ?? Math.ceil(asked.promptText.length / 4);
  const output = usage?.output ?? Math.ceil(made / 4);
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}
