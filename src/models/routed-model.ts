import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { describeFailure } from './failure.ts';

/**
 * How models of a group share the work, and when one rests.
 * @example const options: RoutedModelOptions = { id: 'commands', allowedFails: 1, cooldownMs: 60_000 };
 */
export interface RoutedModelOptions {
  /** The group's id. */
  readonly id: string;
  /** @default 'fallback' */
  readonly strategy?: 'fallback' | 'simple-shuffle';
  /** Failures in a row after which a model rests. @default 3 */
  readonly allowedFails?: number;
  /** Milliseconds that it rests. @default 5_000 */
  readonly cooldownMs?: number;
  /** @default Date.now */
  readonly now?: () => number;
  /** In [0, 1). @default Math.random */
  readonly random?: () => number;
  readonly logger?: Logger;
}

interface Member {
  readonly model: LanguageModelV4;
  failsInARow: number;
  restsUntil: number;
}

/**
 * Several models that answer as one. Each member is READY or RESTING: `allowedFails` failures in a
 * row make it rest for `cooldownMs`, an answer makes it ready again. A call tries the ready ones, in
 * the order of the group or shuffled, then the resting ones (better a tired model than none), until
 * one answers. A caller's abort ends the call at once and counts against nobody.
 * A stream falls back only until it has begun.
 * @example const model = new RoutedModel([first, second], { id: 'commands' });
 */
export class RoutedModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider = 'group';
  readonly modelId: string;
  readonly supportedUrls = {};
  readonly supportsStructuredOutputs: boolean;
  readonly #members: readonly Member[];
  readonly #options: Required<RoutedModelOptions>;

  constructor(models: readonly LanguageModelV4[], options: RoutedModelOptions) {
    this.modelId = options.id;
    this.#members = models.map((model) => ({ model, failsInARow: 0, restsUntil: 0 }));
    this.supportsStructuredOutputs = models.every(offersStructuredOutput);
    this.#options = {
      strategy: 'fallback',
      allowedFails: 3,
      cooldownMs: 5_000,
      now: Date.now,
      random: Math.random,
      logger: silentLogger,
      ...options,
    };
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    return this.#firstAnswer(options, (model) => model.doGenerate(options));
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    return this.#firstAnswer(options, (model) => model.doStream(options));
  }

  async #firstAnswer<T>(
    options: LanguageModelV4CallOptions,
    ask: (model: LanguageModelV4) => PromiseLike<T>,
  ): Promise<T> {
    const { allowedFails, cooldownMs, now, logger } = this.#options;
    let last: unknown;
    for (const member of this.#order()) {
      try {
        const answer = await ask(member.model);
        member.failsInARow = 0;
        member.restsUntil = 0;
        return answer;
      } catch (thrown) {
        options.abortSignal?.throwIfAborted();
        last = thrown;
        member.failsInARow += 1;
        if (member.failsInARow >= allowedFails) member.restsUntil = now() + cooldownMs;
        const { error } = describeFailure(thrown, member.model, now());
        logger.warn(
          {
            group: this.modelId,
            model: member.model.modelId,
            code: error.code,
            reason: error.message,
          },
          'model.failed_over',
        );
      }
    }
    throw last;
  }

  #order(): Member[] {
    const { strategy, now, random } = this.#options;
    const members = [...this.#members];
    if (strategy === 'simple-shuffle') {
      for (let index = members.length - 1; index > 0; index -= 1) {
        const other = Math.floor(random() * (index + 1));
        const [one, two] = [members[index], members[other]];
        if (one !== undefined && two !== undefined) [members[index], members[other]] = [two, one];
      }
    }
    const time = now();
    return members.toSorted((a, b) => Number(a.restsUntil > time) - Number(b.restsUntil > time));
  }
}

/**
 * Whether a model takes a JSON schema as response format.
 * @example if (offersStructuredOutput(model)) call.responseFormat = schema;
 */
export function offersStructuredOutput(model: LanguageModelV4): boolean {
  return (
    (model as { readonly supportsStructuredOutputs?: unknown }).supportsStructuredOutputs === true
  );
}
