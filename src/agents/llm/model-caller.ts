import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import { generateText, type OnText } from '../../models/index.ts';
import { errorMessage, type JsonObject, LegateError } from '../../protocol/index.ts';
import { StoredFormat } from '../../store/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { ArtifactChunk, Turn, TurnEnd } from '../agent.ts';
import { chunk } from '../define.ts';
import { failure } from '../drive.ts';
import {
  type ModelAnswer,
  modelAnswer,
  toFunctionTool,
  toModelAnswer,
} from '../tool-loop/prompt.ts';
import { excerpt, excerptOf, promptExcerpt } from '../steps/excerpt.ts';
import type { OpenStep, Steps } from '../steps/step-log.ts';
import type { Step } from '../steps/step.ts';
import type { ValueSchema } from '../tools/schema.ts';
import type { Tool } from '../tools/tool.ts';
import { noUsage } from '../usage.ts';
import { modelLoader } from './model-source.ts';
import { movedOptions } from './moved-options.ts';
import { checkStep, type LlmSettings, type StepSettings } from './options.ts';
import { responseFormat } from './structured-output.ts';

const journaledAnswer = new StoredFormat({ name: 'journal entry', schema: modelAnswer });

export interface ModelCallerOptions {
  readonly settings: LlmSettings;
  readonly turn: Turn;
  readonly model: LanguageModelV4;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly schema: ValueSchema | undefined;
  /** Aborts with the turn, or when the consumer of its events leaves. */
  readonly signal: AbortSignal;
  readonly emit: (chunk: ArtifactChunk) => Promise<void>;
  /** Records the steps of the model calls. */
  readonly steps: Steps | undefined;
}

/**
 * Calls the model of an agent, runs the callbacks, and streams the text. A turn that runs again
 * reuses the answers in its journal.
 */
export class ModelCaller {
  readonly #options: ModelCallerOptions;
  /** Text of earlier answers in the artifact. */
  #before = '';
  /** Whether text of this answer has been shown. */
  #hasShown = false;
  /** Number of messages in the prompt of the last recorded step. */
  #noted = 0;

  constructor(options: ModelCallerOptions) {
    this.#options = options;
  }

  /**
   * Returns the answer of this number in the task. `before` is the text that is already in the artifact
   * of the answer.
   */
  async ask(prompt: LanguageModelV4Prompt, number: number, before = ''): Promise<ModelAnswer> {
    const { journal } = this.#options.turn;
    this.#before = before;
    this.#hasShown = false;
    const key = `model ${number}`;
    const journaled = await journal?.read(key);
    if (journaled !== undefined) {
      const answer = journaledAnswer.decode(journaled, key);
      const [step, noted] = this.#note(this.#options.model, { prompt });
      step?.end({ model: withAnswer(noted, answer), isReplayed: true });
      await this.#show(answer.text, true);
      return answer;
    }
    const answer = await this.#answer(prompt, number);
    await journal?.write(key, journaledAnswer.encode(answer).value);
    return answer;
  }

  async #answer(prompt: LanguageModelV4Prompt, number: number): Promise<ModelAnswer> {
    const { settings, turn } = this.#options;
    const step = (await settings.prepareStep?.(stepOf(settings.name, number, prompt), turn)) ?? {};
    checkStep(settings.name, step, this.#options.tools);
    const model = await this.#modelOf(step);
    const call = this.#call(prompt, model, step);
    const change = await settings.beforeModel?.(call, turn);
    if (change !== undefined && 'answer' in change) return this.#instead(change.answer);
    let answer: ModelAnswer;
    try {
      answer = await this.#generate(model, change?.call ?? call);
    } catch (error) {
      if (!(error instanceof ModelCallError) || isTooLong(error)) throw error;
      const instead = await settings.onModelError?.(error.cause, turn);
      if (instead === undefined) throw error;
      return this.#instead(instead.answer);
    }
    if (settings.afterModel === undefined) return answer;
    const final = (await settings.afterModel(answer, turn)) ?? answer;
    await this.#show(final.text, true);
    return final;
  }

  #modelOf({ model }: StepSettings): LanguageModelV4 | Promise<LanguageModelV4> {
    const { settings } = this.#options;
    return model === undefined
      ? this.#options.model
      : modelLoader(`prepareStep of agent "${settings.name}"`, model)();
  }

  /** Replaces the answer of the model. */
  async #instead(text: string): Promise<ModelAnswer> {
    await this.#show(text, true);
    return { text, thoughts: [], calls: [], finishReason: 'stop', usage: noUsage };
  }

  async #generate(model: LanguageModelV4, call: LanguageModelV4CallOptions): Promise<ModelAnswer> {
    const { settings, turn, schema, signal } = this.#options;
    const { modelTimeoutMs, modelRetries: retries, random } = settings;
    const { abortSignal: _, ...asked } = call;
    const isStreamed = settings.streams && schema === undefined;
    // With an `afterModel` callback, text is shown only after the callback has run.
    const show = settings.afterModel === undefined ? this.#show : () => undefined;
    const [step, noted] = this.#note(model, asked);
    try {
      const generated = await generateText(model, {
        ...asked,
        ...(isStreamed
          ? { onText: show, silenceMs: modelTimeoutMs, timeoutMs: 0 }
          : { timeoutMs: modelTimeoutMs }),
        retries,
        random,
        signal,
        now: () => turn.clock.now(),
        logger: turn.logger,
      });
      if (!isStreamed) await show(generated.text, true);
      const answer = toModelAnswer(generated);
      step?.end({ model: withAnswer(noted, answer) });
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      const detail = excerpt(errorMessage(error));
      step?.end({ state: 'failed', detail });
      throw new ModelCallError(error);
    }
  }

  /** Records the start of a model call. */
  #note(
    { modelId, provider }: LanguageModelV4,
    { prompt, tools = [] }: Pick<LanguageModelV4CallOptions, 'prompt' | 'tools'>,
  ): readonly [OpenStep | undefined, ModelStep] {
    const { steps } = this.#options;
    const names = tools.map(({ name }) => name);
    const shown =
      steps === undefined
        ? { prompt: [], earlierMessages: 0 }
        : promptExcerpt(prompt, Math.min(this.#noted, prompt.length));
    this.#noted = prompt.length;
    const noted: ModelStep = { provider, ...shown, tools: names };
    return [steps?.start({ kind: 'model', name: modelId, model: noted }), noted];
  }

  /**
   * Appends text to the artifact of the answer, after earlier answers. An answer with a schema is shown
   * only after validation. Only an answer that restarts after a failure replaces text that was shown.
   */
  readonly #show: OnText = (text, isStart) => {
    const { settings, schema, emit } = this.#options;
    if (text === '' || schema !== undefined) return;
    const isAnew = this.#hasShown && isStart;
    this.#hasShown = true;
    if (!isStart) return emit(chunk(settings.artifactId, text, { append: true }));
    const append = !isAnew && this.#before !== '';
    const separator = this.#before === '' || /\s$/.test(this.#before) ? '' : '\n\n';
    const content = `${append ? '' : this.#before}${separator}${text}`;
    return emit(chunk(settings.artifactId, content, { append }));
  };

  #call(
    prompt: LanguageModelV4Prompt,
    model: LanguageModelV4,
    step: StepSettings,
  ): LanguageModelV4CallOptions {
    const { settings, schema } = this.#options;
    const format = schema === undefined ? undefined : responseFormat(model, schema);
    const tools = [...this.#options.tools.values()]
      .filter(({ name }) => step.tools?.includes(name) ?? true)
      .map(toFunctionTool);
    const { toolChoice } = step;
    return {
      ...settings.settings,
      ...step.settings,
      prompt,
      ...(tools.length > 0 && { tools }),
      ...(toolChoice !== undefined && { toolChoice: toToolChoice(toolChoice) }),
      ...(format !== undefined && { responseFormat: format }),
    };
  }
}

type ModelStep = NonNullable<Step['model']>;

function withAnswer(step: ModelStep, answer: ModelAnswer): ModelStep {
  const { text, thoughts, calls, finishReason, usage } = answer;
  const reasoning = excerpt(thoughts.map((each) => each.text).join('\n'));
  return {
    ...step,
    text: excerpt(text),
    ...(reasoning !== '' && { reasoning }),
    ...(calls.length > 0 && {
      calls: calls.map(({ id, name, input }) => ({ id, name, input: excerptOf(input) })),
    }),
    finishReason,
    usage,
  };
}

/** The argument of `prepareStep`. */
function stepOf(agent: string, step: number, prompt: LanguageModelV4Prompt) {
  return movedOptions(
    `prepareStep of agent "${agent}"`,
    { step, prompt },
    {
      stepNumber: 'use "step"',
      messages: 'use "prompt"',
      steps: 'use "step" and "prompt"',
    },
  );
}

function toToolChoice(
  choice: NonNullable<StepSettings['toolChoice']>,
): NonNullable<LanguageModelV4CallOptions['toolChoice']> {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.tool };
}

/** Finish reasons of incomplete answers. */
export const cutReasons: ReadonlySet<string> = new Set(['length', 'content-filter']);

const errorTypes: Readonly<Record<string, string>> = {
  CONTEXT_TOO_LONG: 'context_length',
  RATE_LIMITED: 'model_rate_limited',
  REQUEST_TIMEOUT: 'model_timeout',
};

/** The model call failed after all retries. */
export class ModelCallError extends Error {
  override readonly name = 'ModelCallError';

  constructor(cause: unknown) {
    super('the model gave no answer', { cause });
  }

  get errorType(): string {
    const code = this.cause instanceof LegateError ? this.cause.code : '';
    return errorTypes[code] ?? 'model_unavailable';
  }

  /** Details for the caller: when to retry. */
  get details(): JsonObject {
    const seconds = this.cause instanceof LegateError ? this.cause.retryAfter : undefined;
    return seconds === undefined ? {} : { retry_after: seconds };
  }
}

/** The end of a turn whose model failed. The caller gets the kind of failure; the log has the details. */
export function modelFailure(
  { cause, errorType, details }: ModelCallError,
  logger: Logger,
): TurnEnd {
  logger.error({ error: cause }, 'agents.model.failed');
  const end = failure(errorType, 'The language model could not answer.', details);
  return { ...end, error: cause };
}

/** Whether the prompt exceeded the model's context. */
export function isTooLong(error: unknown): boolean {
  return (
    error instanceof ModelCallError &&
    error.cause instanceof LegateError &&
    error.cause.code === 'CONTEXT_TOO_LONG'
  );
}
