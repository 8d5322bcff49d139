import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { createReasoningFilter, stripReasoning } from '../../models/index.ts';
import { type JsonObject, LegateError } from '../../protocol/index.ts';
import { Patience } from '../patience.ts';
import type { RequestedCall, Thought } from './conversation.ts';
import { type ModelAnswer, type TextPiece, toRequestedCall, toUsage } from './model-answer.ts';
import { noUsage, type Usage } from '../usage.ts';

/**
 * One streamed answer: text as it arrives, what arrives within one turn of the event loop as one
 * piece. The stream is read only as fast as the pieces are taken.
 */
export async function* streamAnswer(
  model: LanguageModelV4,
  call: LanguageModelV4CallOptions,
  options: { readonly signal: AbortSignal; readonly silenceMs: number },
): AsyncGenerator<TextPiece, ModelAnswer> {
  const { signal, silenceMs: milliseconds } = options;
  using patience = new Patience({
    milliseconds,
    signal,
    reason: () =>
      new LegateError(
        'REQUEST_TIMEOUT',
        `model ${model.modelId} was silent for ${milliseconds} ms`,
      ),
  });
  const opened = model.doStream({ ...call, abortSignal: patience.signal });
  const { stream } = await patience.wait(opened);
  const reader = stream.getReader();
  const gathering = new Gathering();
  let pending: Promise<Awaited<ReturnType<typeof reader.read>>> | undefined;
  let tick: Promise<undefined> | undefined;
  try {
    for (;;) {
      pending ??= patience.wait(reader.read());
      const got = gathering.hasText
        ? await Promise.race([pending, (tick ??= endOfLoopTurn())])
        : await pending;
      if (got === undefined) {
        tick = undefined;
        yield gathering.take();
        continue;
      }
      pending = undefined;
      if (got.done) break;
      gathering.add(got.value);
    }
    gathering.end();
    if (gathering.hasText) yield gathering.take();
    const answer = gathering.answer(model.modelId);
    // Thoughts may turn out to be such only at their end; what was shown of them is taken back.
    if (answer.text !== gathering.shown.trimEnd()) yield { text: answer.text, isStart: true };
    return answer;
  } finally {
    pending?.catch(() => undefined);
    reader.cancel().catch(() => undefined);
  }
}

function endOfLoopTurn(): Promise<undefined> {
  return new Promise((resolve) => void setImmediate(resolve, undefined));
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

  take(): TextPiece {
    const piece = { text: this.#text, isStart: this.shown === '' };
    this.shown += this.#text;
    this.#text = '';
    return piece;
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
