import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Reasoning,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { LegateError } from '../protocol/index.ts';
import { Deadline, until } from '../time/index.ts';
import { failedMidway, named } from './failure.ts';
import { createReasoningFilter, stripReasoning } from './reasoning.ts';

/**
 * Called with text as it arrives; the stream is read further when it resolves. `isStart`: an answer
 * starts, and replaces all earlier text.
 * @example
 * let shown = '';
 * const onText: OnText = (text, isStart) => {
 *   shown = isStart ? text : shown + text;
 * };
 */
export type OnText = (text: string, isStart: boolean) => void | Promise<void>;

/**
 * Streams one answer and returns the whole answer. Removes reasoning from the streamed text. Text that
 * arrives in one event loop iteration is passed on as one batch.
 */
export async function streamText(
  model: LanguageModelV4,
  call: LanguageModelV4CallOptions,
  options: {
    readonly signal: AbortSignal;
    /** Longest time between two parts of the stream, in milliseconds; 0 for no limit. */
    readonly silenceMs: number;
    /** Must not throw or reject: no read of the stream may be waiting for it. */
    readonly onText: OnText;
  },
): Promise<LanguageModelV4GenerateResult> {
  const { signal, silenceMs: milliseconds, onText } = options;
  const reason = (): LegateError =>
    new LegateError('REQUEST_TIMEOUT', `${named(model)} was silent for ${milliseconds} ms`);
  using silence = new Deadline({ milliseconds, signal, reason });
  const opened = model.doStream({ ...call, abortSignal: silence.signal });
  const { stream } = await until(opened, silence.signal);
  const reader = stream.getReader();
  const answer = new StreamedAnswer(model);
  const batch = new TextBatch(onText);
  try {
    for (;;) {
      silence.restart();
      const { done, value } = await until(reader.read(), silence.signal);
      if (done) break;
      batch.add(answer.add(value));
      if (batch.flushed !== undefined) await batch.flushed;
    }
    batch.add(answer.end());
    await batch.flush();
    const result = answer.result();
    // A closing tag can mark earlier text as reasoning: then the text is sent again from its start.
    const text = stripReasoning(answer.text);
    if (text !== '' && text !== batch.text) await onText(text, true);
    return result;
  } finally {
    batch.stop();
    reader.cancel().catch(() => undefined);
  }
}

/** Batches text: flushes at the end of each event loop iteration in which text arrived. */
class TextBatch {
  readonly #onText: OnText;
  #waiting = '';
  #due: NodeJS.Immediate | undefined;
  /** All text that was passed on. */
  text = '';
  /** Resolves when the consumer has accepted the last batch. */
  flushed: void | Promise<void> | undefined;

  constructor(onText: OnText) {
    this.#onText = onText;
  }

  /** Removes white space from the start of the answer. */
  add(text: string): void {
    this.#waiting += this.text === '' && this.#waiting === '' ? text.trimStart() : text;
    if (this.#waiting === '') return;
    this.#due ??= setImmediate(() => {
      this.#due = undefined;
      this.flushed = this.flush();
    });
  }

  /** Holds white space back until text follows, so that the answer does not end with it. */
  flush(): void | Promise<void> {
    const text = this.#waiting.trimEnd();
    if (text === '') return undefined;
    const isStart = this.text === '';
    this.#waiting = this.#waiting.slice(text.length);
    this.text += text;
    return this.#onText(text, isStart);
  }

  stop(): void {
    clearImmediate(this.#due);
  }
}

/** Assembles an answer from the parts of its stream. */
class StreamedAnswer {
  readonly #model: Pick<LanguageModelV4, 'modelId' | 'provider'>;
  readonly #filter = createReasoningFilter();
  readonly #reasoning = new Map<string, LanguageModelV4Reasoning>();
  readonly #content: LanguageModelV4Content[] = [];
  #end: Pick<LanguageModelV4GenerateResult, 'finishReason' | 'usage'> | undefined;
  /** The text of the model, with reasoning in tags. */
  text = '';

  constructor(model: Pick<LanguageModelV4, 'modelId' | 'provider'>) {
    this.#model = model;
  }

  /** Returns the text that can be shown. */
  add(part: LanguageModelV4StreamPart): string {
    switch (part.type) {
      case 'text-delta':
        this.text += part.delta;
        return this.#filter.push(part.delta);
      case 'reasoning-delta':
      case 'reasoning-end': {
        const before = this.#reasoning.get(part.id);
        const providerMetadata = part.providerMetadata ?? before?.providerMetadata;
        const delta = part.type === 'reasoning-delta' ? part.delta : '';
        this.#reasoning.set(part.id, {
          type: 'reasoning',
          text: (before?.text ?? '') + delta,
          ...(providerMetadata !== undefined && { providerMetadata }),
        });
        return '';
      }
      case 'tool-call':
      case 'file':
      case 'source':
        this.#content.push(part);
        return '';
      case 'finish':
        this.#end = { finishReason: part.finishReason, usage: part.usage };
        return '';
      case 'error':
        throw failedMidway(part.error, this.#model);
      default:
        return '';
    }
  }

  /** Returns the text that was held back as a possible tag. */
  end(): string {
    return this.#filter.end();
  }

  result(): LanguageModelV4GenerateResult {
    // Adapters add a finish part if the provider closed the stream without one.
    const { unified, raw } = this.#end?.finishReason ?? {};
    const isMadeUp = unified === 'interrupted' || (unified === 'other' && raw === undefined);
    if (this.#end === undefined || isMadeUp) {
      const message = `${named(this.#model)} broke off its answer: the stream ended without a finish reason`;
      throw new LegateError('UNAVAILABLE', message);
    }
    const text: LanguageModelV4Content[] =
      this.text === '' ? [] : [{ type: 'text', text: this.text }];
    const content = [...this.#reasoning.values(), ...text, ...this.#content];
    return { ...this.#end, content, warnings: [] };
  }
}
