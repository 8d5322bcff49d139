import { defaultLogger } from '../telemetry/index.ts';
import { Deadline } from '../time/index.ts';
import type { CreateModelOptions } from './create-model.ts';
import { readModelGroup } from './model-group.ts';
import { resolveEndpoint } from './providers.ts';
import { retryModel } from './retry.ts';

/**
 * A model that turns texts into vectors.
 * @example
 * const embedder: Embedder = createEmbedder({ id: 'e', models: [{ provider: 'ollama', model: 'nomic-embed-text' }] });
 * const [vector] = await embedder.embed(['What does a transfer cost?']);
 */
export interface Embedder {
  readonly modelId: string;
  embed(
    texts: readonly string[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<readonly Float32Array[]>;
}

/** Texts of one request. */
const batch = 64;
/** Milliseconds of one request. */
const timeoutMs = 60_000;

/**
 * The embedding model of one entry of `model_groups`: the first of its models, behind any endpoint that
 * speaks OpenAI's `/embeddings`. Throws `CONFIGURATION_INVALID` as `createModel` does; makes no request.
 * @example
 * const embedder = createEmbedder({ id: 'e', models: [{ provider: 'openai', model: 'text-embedding-3-small' }] });
 * const [vector] = await embedder.embed(['What does a transfer cost?']);
 */
export function createEmbedder(config: unknown, options: CreateModelOptions = {}): Embedder {
  const group = readModelGroup(config);
  const { environment = process.env, logger = defaultLogger, now = Date.now } = options;
  const [entry] = group.models;
  if (entry === undefined) throw new Error('a model group has a model');
  const endpoint = resolveEndpoint(entry, `model group "${group.id}": models[0]`, environment);
  const load = async () => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const { baseUrl, apiKey, headers, queryParameters, modelId } = endpoint;
    return createOpenAICompatible({
      name: entry.provider,
      baseURL: baseUrl,
      headers: { ...headers },
      ...(apiKey !== undefined && { apiKey }),
      ...(queryParameters !== undefined && { queryParams: { ...queryParameters } }),
      ...(options.fetch !== undefined && { fetch: options.fetch }),
    }).embeddingModel(modelId);
  };
  let loading: ReturnType<typeof load> | undefined;
  return {
    modelId: endpoint.modelId,
    async embed(texts, { signal = new AbortController().signal } = {}) {
      const model = await (loading ??= load());
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += batch) {
        const values = texts.slice(at, at + batch);
        const retrying = { retries: 2, signal, logger, now, random: options.random ?? Math.random };
        const ask = async () => {
          const reason = () => new DOMException('the embedding model is too slow', 'TimeoutError');
          using deadline = new Deadline({ signal, milliseconds: timeoutMs, reason });
          const { embeddings, usage } = await model.doEmbed({
            values,
            abortSignal: deadline.signal,
          });
          return { embeddings, usage: { input: usage?.tokens ?? 0, output: 0 } };
        };
        const { embeddings } = await retryModel(model, retrying, ask, 'embeddings');
        vectors.push(...embeddings.map((each) => Float32Array.from(each)));
      }
      return vectors;
    },
  };
}
