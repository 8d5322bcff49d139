import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { LegateError } from '../protocol/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { describeModelFailure } from './failure.ts';

/** Routing strategy and cooldown of a model group. */
export interface RoutedModelOptions {
  /** The group's id. */
  readonly id: string;
  /** @default 'fallback' */
  readonly strategy?: 'fallback' | 'simple-shuffle';
  /** Consecutive failures that start the cooldown. @default 3 */
  readonly allowedFails?: number;
  /** Milliseconds. @default 5_000 */
  readonly cooldownMs?: number;
  /** @default Date.now */
  readonly now?: () => number;
  /** In [0, 1). @default Math.random */
  readonly random?: () => number;
  readonly logger?: Logger;
}

interface Member {
  readonly model: LanguageModelV4;
  consecutiveFailures: number;
  cooldownUntil: number;
}

/**
 * Routes calls to a group of models. `allowedFails` consecutive failures put a member in cooldown for
 * `cooldownMs`; a successful call ends the cooldown. A call tries the available members, in the order
 * of the group or shuffled, then the members in cooldown, until one answers. If the
 * caller aborts, the call ends at once; this counts as a failure only if the caller's time limit
 * aborted. A stream fails over only before its first part.
 */
export class RoutedModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider = 'group';
  readonly modelId: string;
  readonly supportedUrls = {};
  readonly supportsStructuredOutputs: boolean;
  /**
   * The sum of the timeouts of its models, in milliseconds, so that the last can still answer if the
   * others hang. A model without a timeout has the longest of the group.
   */
  readonly timeoutMs: number | undefined;
  readonly #members: readonly Member[];
  readonly #options: Required<RoutedModelOptions>;

  constructor(models: readonly LanguageModelV4[], options: RoutedModelOptions) {
    this.modelId = options.id;
    this.#members = models.map((model) => ({ model, consecutiveFailures: 0, cooldownUntil: 0 }));
    this.supportsStructuredOutputs = models.every(offersStructuredOutput);
    const longest = Math.max(0, ...models.map((model) => timeoutOf(model) ?? 0));
    const total = models.reduce((sum, model) => sum + (timeoutOf(model) ?? longest), 0);
    this.timeoutMs = total === 0 ? undefined : total;
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
    const { abortSignal: signal } = options;
    let last: unknown;
    for (const member of this.#order()) {
      try {
        const answer = await ask(member.model);
        member.consecutiveFailures = 0;
        member.cooldownUntil = 0;
        return answer;
      } catch (thrown) {
        const isAborted = signal?.aborted === true;
        if (isAborted && !isTimeout(signal.reason)) throw signal.reason;
        last = thrown;
        member.consecutiveFailures += 1;
        if (member.consecutiveFailures >= allowedFails) member.cooldownUntil = now() + cooldownMs;
        if (isAborted) throw signal.reason;
        const { error } = describeModelFailure(thrown, member.model, now());
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
    return members.toSorted(
      (a, b) => Number(a.cooldownUntil > time) - Number(b.cooldownUntil > time),
    );
  }
}

/** Whether a caller aborted because its time was over, rather than because it left. */
function isTimeout(reason: unknown): boolean {
  if (reason instanceof LegateError) return reason.code === 'REQUEST_TIMEOUT';
  return reason instanceof DOMException && reason.name === 'TimeoutError';
}

/**
 * The configured timeout of one call, in milliseconds; undefined if not configured.
 * @example const timeoutMs = timeoutOf(model) ?? 7_000;
 */
export function timeoutOf(model: LanguageModelV4): number | undefined {
  return 'timeoutMs' in model && typeof model.timeoutMs === 'number' ? model.timeoutMs : undefined;
}

/**
 * Whether a model supports a JSON schema as response format.
 * @example if (offersStructuredOutput(model)) call.responseFormat = schema;
 */
export function offersStructuredOutput(model: LanguageModelV4): boolean {
  return 'supportsStructuredOutputs' in model && model.supportsStructuredOutputs === true;
}
