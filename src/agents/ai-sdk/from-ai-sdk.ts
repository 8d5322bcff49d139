import { z } from 'zod';
import {
  artifact,
  invalidConfiguration,
  isJsonObject,
  type JsonObject,
  type Part,
} from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import type { Agent, Turn, TurnEvent } from '../agent.ts';
import { agent, type AgentOptions, completed, working } from '../define.ts';
import { failure } from '../drive.ts';
import { cutReasons, ModelCallError, modelFailure } from '../llm/model-caller.ts';
import { askingEnd, readAnswers } from '../llm/questions.ts';
import { jsonObject, SavedTasks } from '../stored.ts';
import { callState, type CallState, isAsking } from '../tool-loop/call-state.ts';
import { noUsage, usageMetadata } from '../usage.ts';
import { type StreamPart, streamPart } from './stream-part.ts';

/**
 * An agent of the AI SDK: a `ToolLoopAgent`, or another implementation of its interface `Agent`.
 * @example const served = (source: AiSdkAgent) => serve(fromAiSdk(source, { name: 'clerk' }));
 */
export interface AiSdkAgent {
  readonly version: 'agent-v1';
  readonly id: string | undefined;
  stream(options: {
    readonly messages: never[];
    readonly abortSignal: AbortSignal;
  }): PromiseLike<AiSdkStream>;
}

/** The used part of the result of `stream`. */
interface AiSdkStream {
  readonly fullStream: AsyncIterable<unknown>;
  /** In version 7 and later. */
  readonly responseMessages?: PromiseLike<readonly unknown[]>;
  /** In earlier versions. */
  readonly response: PromiseLike<unknown>;
}

/** The state of a waiting task: its messages so far, and the calls that need approval. */
const stopFormat = new StoredFormat({
  name: 'checkpoint of task',
  schema: z.object({ messages: z.array(jsonObject), calls: z.array(callState) }),
});

/** Maximum messages of a conversation in the prompt. */
const maxMessages = 200;

/** `ModelMessage` of the AI SDK, whose type is available only to programs that install it. */
const modelMessages = z.array(
  z.custom<never>((value) => isJsonObject(value) && typeof value['role'] === 'string'),
);

/**
 * Wraps an agent of the AI SDK: its text streams, its files become artifacts, a tool that needs
 * approval becomes a question, and the conversation stores its messages.
 * @example
 * const clerk = new ToolLoopAgent({ id: 'clerk', model, tools: { search } });
 * await serve(fromAiSdk(clerk));
 */
export function fromAiSdk(source: AiSdkAgent, options: Partial<AgentOptions> = {}): Agent {
  checkSource(source);
  const { name = source.id ?? 'agent', ...rest } = options;
  const made = agent({ name, ...rest }, (turn) => run(source, turn));
  return {
    ...made,
    async abandon(turn) {
      const saved = await savedTasks(turn);
      if (saved.take(turn.taskId) === undefined) return undefined;
      return { context: { value: saved.toValue('tasks') } };
    },
  };
}

function checkSource(source: unknown): void {
  const isAgent = typeof source === 'object' && source !== null && 'stream' in source;
  if (isAgent && typeof source.stream === 'function') return;
  const hint = source instanceof Promise ? ', not a promise of one' : '';
  throw invalidConfiguration(
    `fromAiSdk takes an agent of the AI SDK${hint}: fromAiSdk(new ToolLoopAgent({ model }))`,
  );
}

async function* run(source: AiSdkAgent, turn: Turn): AsyncGenerator<TurnEvent | string> {
  const saved = await savedTasks(turn);
  const stopped = saved.take(turn.taskId);
  const own = [...(stopped?.messages ?? [userMessage(turn.message.parts)])];
  if (stopped !== undefined) {
    const { calls, note, remarks } = readAnswers(turn.message, stopped.calls);
    if (calls.some(isAsking)) {
      saved.stop(turn.taskId, { messages: own, calls: [...calls] });
      yield { ...askingEnd(calls, note), context: { value: saved.toValue('tasks') } };
      return;
    }
    const isDenied = calls.some(({ isConfirmed = false }) => !isConfirmed);
    // The AI SDK reads approvals from the last message only, so remarks go before it.
    if (remarks.length > 0 && !isDenied) own.splice(-1, 0, userMessage(remarks));
    own.push({ role: 'tool', content: calls.map((each) => approvalOf(each, remarks)) });
  }
  const result = await source.stream({
    messages: modelMessages.parse([...(await history(turn)), ...own]),
    abortSignal: turn.signal,
  });
  const asked: CallState[] = [];
  let finish: Finish | undefined;
  const text = new StepText();
  const failed = async (error: unknown) =>
    modelFailure(await failedCall(error, source, turn), turn.logger);
  try {
    for await (const each of result.fullStream) {
      const part = streamPart.parse(each);
      if (part.type === 'tool-approval-request' && !part.isAutomatic) asked.push(toCall(part));
      else if (part.type === 'finish') finish = part;
      else if (part.type === 'start-step') text.startStep();
      else if (part.type === 'text-delta') yield text.add(part.text);
      else if (part.type === 'error' && !turn.signal.aborted) return yield await failed(part.error);
      else yield* eventsOf(part);
    }
  } catch (error) {
    turn.signal.throwIfAborted();
    const { isModelError } = await import('../../models/index.ts');
    if (!isModelError(error)) throw error;
    return yield await failed(error);
  }
  turn.signal.throwIfAborted();
  const broken = asked.length > 0 ? undefined : brokenBy(finish);
  if (broken !== undefined) return yield await failed(broken);
  own.push(...(await responseMessages(result)));
  if (asked.length > 0) {
    saved.stop(turn.taskId, { messages: own, calls: asked });
    yield { ...askingEnd(asked), context: { value: saved.toValue('tasks') } };
    return;
  }
  const context = { value: saved.toValue('tasks'), log: own };
  if (finish?.finishReason === 'content-filter' && !text.isShown)
    return yield failure('content_filter', 'The model refused to answer.');
  yield completed(undefined, { metadata: metadataOf(finish, source, turn), context });
}

type Finish = Extract<StreamPart, { type: 'finish' }>;

function metadataOf(finish: Finish | undefined, { id }: AiSdkAgent, turn: Turn): JsonObject {
  const { finishReason = 'stop', totalUsage = noUsage } = finish ?? {};
  const usage = usageMetadata(totalUsage);
  if (!cutReasons.has(finishReason)) return usage;
  turn.logger.warn({ agent: id, finishReason }, 'agents.model.truncated');
  return { ...usage, finish_reason: finishReason };
}

/** Why the last answer of the model is incomplete, although no error was reported. */
function brokenBy(finish: Finish | undefined): string | undefined {
  if (finish === undefined) return 'it broke off its answer';
  const { finishReason, rawFinishReason } = finish;
  if (finishReason === 'error') return `its answer ended with an error: ${rawFinishReason}`;
  // AI SDK 5, 6 and 7 differ in how they report a stream that the provider closed without a finish.
  const isMadeUp =
    ['interrupted', 'unknown'].includes(finishReason) ||
    (finishReason === 'other' && rawFinishReason === undefined);
  return isMadeUp ? 'it broke off its answer' : undefined;
}

function* eventsOf(part: StreamPart): Generator<TurnEvent | string> {
  switch (part.type) {
    case 'file': {
      const { base64: raw, mediaType } = part.file;
      yield artifact([{ raw, mediaType }]);
      return;
    }
    case 'source':
      yield artifact([{ url: part.url, mediaType: 'text/html' }], {
        ...(part.title !== undefined && { name: part.title }),
      });
      return;
    case 'tool-call':
      yield working(undefined, { tool: part.toolName });
      return;
    default:
  }
}

/** Starts the text of each step in a new paragraph. */
class StepText {
  isShown = false;
  #needsBreak = false;
  #text = '';

  startStep(): void {
    this.#needsBreak = /\S$/.test(this.#text);
  }

  add(delta: string): string {
    if (delta === '') return '';
    const shown = this.#needsBreak ? `\n\n${delta.trimStart()}` : delta;
    this.#needsBreak = false;
    this.isShown = true;
    this.#text = shown;
    return shown;
  }
}

async function failedCall(
  error: unknown,
  { id = 'agent' }: AiSdkAgent,
  { clock }: Turn,
): Promise<ModelCallError> {
  const { describeModelFailure } = await import('../../models/index.ts');
  return new ModelCallError(describeModelFailure(error, `of agent ${id}`, clock.now()).error);
}

function toCall({ approvalId, toolCall }: Extract<StreamPart, { approvalId: string }>): CallState {
  const { toolName: name, input } = toolCall;
  return { id: approvalId, name, input, ask: { request: 'confirmation' } };
}

/** A denial includes the caller's remarks. */
function approvalOf(call: CallState, remarks: readonly Part[]): JsonObject {
  const { id, isConfirmed = false, output } = call;
  const said = remarks.map(({ text = '' }) => text).join('\n');
  return {
    type: 'tool-approval-response',
    approvalId: id,
    approved: isConfirmed,
    ...(output?.type === 'denied' && {
      reason: said === '' ? output.value : `${output.value}. The user said: ${said}`,
    }),
  };
}

async function savedTasks(turn: Turn) {
  return new SavedTasks(stopFormat, (await turn.state.load())?.['tasks']);
}

/** The messages of earlier tasks, starting with one of the user, since a tool result needs its call. */
async function history({ state }: Turn): Promise<readonly JsonObject[]> {
  const messages = await state.log({ last: maxMessages });
  const first = messages.findIndex(({ role }) => role === 'user');
  return first < 0 ? [] : messages.slice(first);
}

/** Converts the messages to plain JSON for storage. */
async function responseMessages(result: AiSdkStream): Promise<readonly JsonObject[]> {
  const response = result.responseMessages ?? result.response.then(messagesOf);
  const text = JSON.stringify(await response);
  return z.array(jsonObject).parse(JSON.parse(text));
}

function messagesOf(response: unknown): readonly unknown[] {
  return z.object({ messages: z.array(z.unknown()) }).parse(response).messages;
}

function userMessage(parts: readonly Part[]): JsonObject {
  return { role: 'user', content: parts.map(toContent) };
}

function toContent({ text, data, raw, url, mediaType, filename }: Part): JsonObject {
  const file = raw ?? url;
  if (file === undefined) return { type: 'text', text: text ?? JSON.stringify(data ?? '') };
  return {
    type: 'file',
    data: file,
    mediaType: mediaType ?? 'application/octet-stream',
    ...(filename !== undefined && { filename }),
  };
}
