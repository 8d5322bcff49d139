import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { createReasoningFilter, stripReasoning } from '../../models/index.ts';
import { type JsonObject, LegateError } from '../../protocol/index.ts';
import { Deadline, until } from '../../time/index.ts';
import type { RequestedCall, Thought } from './conversation.ts';
import { type ModelAnswer, type Show, toRequestedCall, toUsage } from './model-answer.ts';
import { noUsage, type Usage } from '../usage.ts';

/**
 * One streamed answer: text is shown as it arrives, what arrives within one turn of the event loop
 * as one piece. The stream is read only as fast as the pieces are taken.
 */
export async function streamAnswer(
  model: LanguageModelV4,
  call: LanguageModelV4CallOptions,
  options: { readonly signal: AbortSignal; readonly silenceMs: number; readonly show: Show },
): Promise<ModelAnswer> {
  const { signal, silenceMs: milliseconds, show } = options;
  using silence = new Deadline({
    milliseconds,
    signal,
    reason: () =>
      new LegateError(
        'REQUEST_TIMEOUT',
        `model ${model.modelId} was silent for ${milliseconds} ms`,
      ),
  });
  const opened = model.doStream({ ...call, abortSignal: silence.signal });
  const { stream } = await until(opened, silence.signal);
  const reader = stream.getReader();
  const gathering = new Gathering();
  const showing = new Showing(gathering, show);
  try {
    for (;;) {
      silence.restart();
      const { done, value } = await until(reader.read(), silence.signal);
      if (done) break;
      gathering.add(value);
      if (gathering.hasText) showing.soon();
      if (showing.shown !== undefined) await showing.shown;
    }
    gathering.end();
    await showing.now();
    const answer = gathering.answer(model.modelId);
    // Thoughts may turn out to be such only at their end; what was shown of them is taken back.
    if (answer.text !== gathering.shown.trimEnd()) await show(answer.text, true);
    return answer;
  } finally {
    showing.stop();
    reader.cancel().catch(() => undefined);
  }
}

/** Shows gathered text at the end of each turn of the event loop in which some came. */
class Showing {
  readonly #gathering: Gathering;
  readonly #show: Show;
  #due: NodeJS.Immediate | undefined;
  /** Resolves when there is room for more than was shown last. */
  shown: Promise<void> | undefined;

  constructor(gathering: Gathering, show: Show) {
    this.#gathering = gathering;
    this.#show = show;
  }

  soon(): void {
    this.#due ??= setImmediate(() => {
      this.#due = undefined;
      this.shown = this.now();
    });
  }

  now(): Promise<void> | undefined {
    if (!this.#gathering.hasText) return undefined;
    const isStart = this.#gathering.shown === '';
    return this.#show(this.#gathering.take(), isStart);
  }

  stop(): void {
    clearImmediate(this.#due);
  }
}

/** The parts of a stream, put together. */
class Gathering {
  /** All text that was taken so far. */
  shown = '';
  readonly #filter = createReasoningFilter();
  readonly #thoughts = new Map<string, Thought>();
  readonly #calls: RequestedCall[] = [];
  #raw = '';
  #text = '';
  #usage: Usage = { ...noUsage, calls: 1 };
  #finishReason: string | undefined;

  get hasText(): boolean {
    return this.#text !== '';
  }

  take(): string {
    const text = this.#text;
    this.shown += text;
    this.#text = '';
    return text;
  }

  add(part: LanguageModelV4StreamPart): void {
    switch (part.type) {
      case 'text-delta':
        this.#raw += part.delta;
        this.#show(this.#filter.push(part.delta));
        return;
      case 'reasoning-delta':
      case 'reasoning-end': {
        const before = this.#thoughts.get(part.id);
        const provider = (part.providerMetadata as JsonObject | undefined) ?? before?.provider;
        const delta = part.type === 'reasoning-delta' ? part.delta : '';
        this.#thoughts.set(part.id, {
          text: (before?.text ?? '') + delta,
          ...(provider !== undefined && { provider }),
        });
        return;
      }
      case 'tool-call':
        if (part.providerExecuted !== true) this.#calls.push(toRequestedCall(part));
        return;
      case 'finish':
        this.#usage = toUsage(part.usage);
        this.#finishReason = part.finishReason.unified;
        return;
      case 'error':
        throw part.error;
      default:
    }
  }

  end(): void {
    this.#show(this.#filter.end());
  }

  answer(model: string): ModelAnswer {
    if (this.#finishReason === undefined) {
      throw new LegateError('UNAVAILABLE', `model ${model} broke off its answer`);
    }
    return {
      text: stripReasoning(this.#raw),
      thoughts: [...this.#thoughts.values()],
      calls: this.#calls,
      finishReason: this.#finishReason,
      usage: this.#usage,
    };
  }

  /** An answer begins with its first visible character. */
  #show(text: string): void {
    this.#text += this.shown === '' && this.#text === '' ? text.trimStart() : text;
  }
}
