import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { present } from '../config/index.ts';
import { Deadline, until } from '../time/index.ts';
import { timedOut } from './failure.ts';
import type { ModelConfig } from './model-group.ts';
import type { Endpoint } from './providers.ts';

/** OpenAI's newer models reject `max_tokens` and expect `max_completion_tokens`. */
const wantsCompletionTokens = /^(?:o\d|gpt-5)/;

/** Timeout if nothing else limits a call, in milliseconds. */
export const defaultTimeoutMs = 60_000;

interface CompatibleModelOptions {
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Timeout without a configured one, in milliseconds. @default 60_000 for a call without a signal, else none */
  readonly unconfiguredTimeoutMs?: number | undefined;
}

/**
 * One model behind an OpenAI-compatible endpoint. The first call loads the adapter, so a project that
 * never calls its model does not load it. Settings of a call override those of the configuration. The
 * timeout limits the whole answer, or, when streaming, each part of it.
 */
export class CompatibleModel implements LanguageModelV4 {
  readonly specificationVersion = 'v4';
  readonly provider: string;
  readonly modelId: string;
  /** What to check when the service rejects the key. */
  readonly keyHint: string | undefined;
  readonly supportedUrls = {};
  readonly supportsStructuredOutputs: boolean;
  readonly #config: ModelConfig;
  readonly #endpoint: Endpoint;
  readonly #options: CompatibleModelOptions;
  /** Timeout of one call, in milliseconds, if configured. */
  readonly timeoutMs: number | undefined;
  #loaded: Promise<LanguageModelV4> | undefined;

  constructor(config: ModelConfig, endpoint: Endpoint, options: CompatibleModelOptions = {}) {
    this.provider = config.provider;
    this.modelId = endpoint.modelId;
    this.keyHint = endpoint.keyHint;
    this.supportsStructuredOutputs = endpoint.structuredOutput;
    this.#config = config;
    this.#endpoint = endpoint;
    this.#options = options;
    this.timeoutMs = configuredTimeoutMs(config);
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    const model = await this.#load();
    using deadline = this.#deadline(options.abortSignal);
    const call = model.doGenerate(this.#settings(options, deadline.signal));
    return await until(call, deadline.signal);
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const model = await this.#load();
    const deadline = this.#deadline(options.abortSignal);
    try {
      const call = model.doStream(this.#settings(options, deadline.signal));
      const result = await until(call, deadline.signal);
      deadline.restart();
      return { ...result, stream: watched(result.stream, deadline) };
    } catch (thrown) {
      deadline.close();
      throw thrown;
    }
  }

  #load(): Promise<LanguageModelV4> {
    this.#loaded ??= this.#import();
    return this.#loaded;
  }

  async #import(): Promise<LanguageModelV4> {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const { baseUrl, apiKey, headers, queryParameters, modelId } = this.#endpoint;
    const { extra_body: extraBody } = this.#config;
    const { fetch } = this.#options;
    const renames =
      ['openai', 'azure'].includes(this.provider) && wantsCompletionTokens.test(modelId);
    const create = createOpenAICompatible({
      name: this.provider,
      baseURL: baseUrl,
      includeUsage: true,
      supportsStructuredOutputs: this.supportsStructuredOutputs,
      headers: { ...headers },
      ...(apiKey !== undefined && { apiKey }),
      ...(queryParameters !== undefined && { queryParams: { ...queryParameters } }),
      ...(fetch !== undefined && { fetch }),
      transformRequestBody: (body) => {
        const { max_tokens: maxTokens, ...rest } = body;
        const limit = renames ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens };
        return { ...rest, ...(maxTokens !== undefined && limit), ...extraBody };
      },
    });
    return create.chatModel(modelId);
  }

  #settings(options: LanguageModelV4CallOptions, signal: AbortSignal): LanguageModelV4CallOptions {
    const { temperature, top_p: topP, seed, reasoning_effort: reasoning } = this.#config;
    const maxOutputTokens = this.#config.max_tokens ?? this.#config.max_completion_tokens;
    return {
      ...(temperature !== undefined && { temperature }),
      ...(topP !== undefined && { topP }),
      ...(seed !== undefined && { seed }),
      ...(reasoning !== undefined && { reasoning }),
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      // An undefined setting must not override the configured one.
      ...present(options),
      abortSignal: signal,
    };
  }

  #deadline(outer: AbortSignal | undefined): Deadline {
    const { unconfiguredTimeoutMs = outer === undefined ? defaultTimeoutMs : 0 } = this.#options;
    const milliseconds = this.timeoutMs ?? unconfiguredTimeoutMs;
    const reason = (): Error => timedOut(this, milliseconds);
    return new Deadline({ signal: outer, milliseconds, reason });
  }
}

/** The timeout of a model's configuration, in milliseconds; undefined if it has none. */
export function configuredTimeoutMs(config: ModelConfig): number | undefined {
  const seconds = config.timeout ?? config.request_timeout;
  return seconds === undefined ? undefined : seconds * 1000;
}

/** Restarts the deadline with each part. */
function watched(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  deadline: Deadline,
): ReadableStream<LanguageModelV4StreamPart> {
  const reader = stream.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await until(reader.read(), deadline.signal);
        if (done) {
          deadline.close();
          return controller.close();
        }
        deadline.restart();
        controller.enqueue(value);
      } catch (thrown) {
        deadline.close();
        throw thrown;
      }
    },
    cancel(reason) {
      deadline.close();
      return reader.cancel(reason);
    },
  });
}
