import { setTimeout as delay } from 'node:timers/promises';
import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4Content,
  type LanguageModelV4FinishReason,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4Message,
  type LanguageModelV4StreamPart,
  type LanguageModelV4StreamResult,
  type LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { JsonObject } from '../protocol/index.ts';
import {
  finishReasonOf,
  pieces,
  type Script,
  type ScriptedAnswer,
  type ScriptedRequest,
  ScriptPlayer,
  usageOf,
} from './script.ts';

/**
 * A model that answers from a script, and remembers what it was asked.
 * @example
 * const model: ScriptedModel = scriptedModel(['Hello, Ada!']);
 * await generateText(model, { prompt: 'I am Ada' });
 * console.log(model.requests[0]?.lastUserText); // 'I am Ada'
 */
export interface ScriptedModel extends LanguageModelV4 {
  /** Whether it takes a JSON schema as response format. */
  readonly supportsStructuredOutputs: boolean;
  /** What it was asked so far, oldest first. */
  readonly requests: readonly ScriptedRequest[];
}

/**
 * What a scripted model says of itself.
 * @example const options: ScriptedModelOptions = { modelId: 'gpt-4o', structuredOutput: true };
 */
export interface ScriptedModelOptions {
  /** @default 'scripted' */
  readonly modelId?: string;
  /** @default false */
  readonly structuredOutput?: boolean;
}

/**
 * A model that answers from a script, for tests that want no network. Errors, delays and silence
 * of the script happen as a provider would report them.
 * @example const model = scriptedModel(['start flow transfer_money'])
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  const player = new ScriptPlayer(script);
  const answerTo = async (call: LanguageModelV4CallOptions, isStream: boolean) => {
    const request = toRequest(call, isStream);
    const answer = await player.next(request);
    await happen(answer, call.abortSignal);
    return { request, answer };
  };
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: options.modelId ?? 'scripted',
    supportedUrls: {},
    supportsStructuredOutputs: options.structuredOutput ?? false,
    requests: player.requests,
    async doGenerate(call): Promise<LanguageModelV4GenerateResult> {
      const { request, answer } = await answerTo(call, false);
      return {
        content: toContent(answer),
        finishReason: toFinishReason(answer),
        usage: toUsage(answer, request),
        warnings: [],
      };
    },
    async doStream(call): Promise<LanguageModelV4StreamResult> {
      const { request, answer } = await answerTo(call, true);
      const parts = toParts(answer, request);
      const signal = call.abortSignal;
      return {
        stream: new ReadableStream<LanguageModelV4StreamPart>({
          async pull(controller) {
            signal?.throwIfAborted();
            const { value, done } = parts.next();
            if (done === true) return controller.close();
            if (value.type === 'text-delta' && answer.chunkDelayMs !== undefined) {
              await delay(answer.chunkDelayMs, undefined, signal && { signal });
            }
            controller.enqueue(value);
          },
        }),
      };
    },
  };
}

/** Delays, silence and failures. */
async function happen(answer: ScriptedAnswer, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  if (answer.hang === true) {
    const { promise, reject } = Promise.withResolvers<never>();
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    await promise;
  }
  if (answer.delayMs !== undefined) await delay(answer.delayMs, undefined, signal && { signal });
  const base = { url: 'scripted:', requestBodyValues: {} };
  if (answer.disconnect !== undefined) {
    throw new APICallError({ ...base, message: 'Connection lost', isRetryable: true });
  }
  if (answer.error !== undefined) {
    const { status, message = `scripted status ${status}`, headers } = answer.error;
    throw new APICallError({
      ...base,
      message,
      statusCode: status,
      ...(headers !== undefined && { responseHeaders: { ...headers } }),
    });
  }
}

function toContent(answer: ScriptedAnswer): LanguageModelV4Content[] {
  const content: LanguageModelV4Content[] = [];
  if (answer.reasoning !== undefined) content.push({ type: 'reasoning', text: answer.reasoning });
  const text = answer.rawBody ?? answer.text;
  if (text !== undefined) content.push({ type: 'text', text });
  for (const [index, call] of (answer.toolCalls ?? []).entries()) {
    content.push({
      type: 'tool-call',
      toolCallId: call.id ?? `call_${index}`,
      toolName: call.name,
      input: JSON.stringify(call.input),
    });
  }
  return content;
}

function* toParts(
  answer: ScriptedAnswer,
  request: ScriptedRequest,
): Generator<LanguageModelV4StreamPart, void> {
  yield { type: 'stream-start', warnings: [] };
  for (const [index, part] of toContent(answer).entries()) {
    const id = String(index);
    if (part.type === 'reasoning') {
      yield { type: 'reasoning-start', id };
      yield { type: 'reasoning-delta', id, delta: part.text };
      yield { type: 'reasoning-end', id };
    } else if (part.type === 'text') {
      yield { type: 'text-start', id };
      for (const delta of pieces(part.text)) yield { type: 'text-delta', id, delta };
      yield { type: 'text-end', id };
    } else if (part.type === 'tool-call') {
      yield { type: 'tool-input-start', id: part.toolCallId, toolName: part.toolName };
      yield { type: 'tool-input-delta', id: part.toolCallId, delta: part.input };
      yield { type: 'tool-input-end', id: part.toolCallId };
      yield part;
    }
  }
  yield {
    type: 'finish',
    finishReason: toFinishReason(answer),
    usage: toUsage(answer, request),
  };
}

function toFinishReason(answer: ScriptedAnswer): LanguageModelV4FinishReason {
  const raw = finishReasonOf(answer);
  const unified = { tool_calls: 'tool-calls', content_filter: 'content-filter' }[raw] ?? raw;
  return { unified: unified as LanguageModelV4FinishReason['unified'], raw };
}

function toUsage(answer: ScriptedAnswer, request: ScriptedRequest): LanguageModelV4Usage {
  const { input, output } = usageOf(answer, request);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

function toRequest(call: LanguageModelV4CallOptions, isStream: boolean): ScriptedRequest {
  const messages = call.prompt.map((message) => ({ role: message.role, text: textOf(message) }));
  const schema = call.responseFormat?.type === 'json' ? call.responseFormat.schema : undefined;
  return {
    messages,
    lastUserText: messages.findLast((message) => message.role === 'user')?.text ?? '',
    promptText: messages.map((message) => message.text).join('\n'),
    tools: (call.tools ?? []).map((tool) => tool.name),
    isStream,
    responseSchema: schema as JsonObject | undefined,
  };
}

function textOf(message: LanguageModelV4Message): string {
  if (message.role === 'system') return message.content;
  return message.content
    .map((part) => {
      if (part.type === 'text') return part.text;
      if (part.type === 'tool-result') return JSON.stringify(part.output);
      return '';
    })
    .join('');
}
