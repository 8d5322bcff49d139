import type { EmbeddingModelV2, EmbeddingModelV3, EmbeddingModelV4 } from '@ai-sdk/provider';
import { defaultLogger, type Logger } from '../telemetry/index.ts';
import { invalidConfiguration, LegateError } from '../protocol/index.ts';
import { Deadline } from '../time/index.ts';
import { type CreateModelOptions, modelFetch } from './create-model.ts';
import { readModelGroup } from './model-group.ts';
import { resolveEndpoint } from './providers.ts';
import { retryModel } from './retry.ts';

/**
 * An embedding model of any version of the AI SDK since 5: specification `v2`, `v3` or `v4`.
 * @example const nameOf = ({ provider, modelId }: AnyEmbeddingModel) => `${provider}/${modelId}`;
 */
export type AnyEmbeddingModel = EmbeddingModelV4 | EmbeddingModelV3 | EmbeddingModelV2<string>;

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
    options?: {
      readonly signal?: AbortSignal | undefined;
      /** Where retries are logged. @default the embedder's */
      readonly logger?: Logger;
    },
  ): Promise<readonly Float32Array[]>;
}

/** Maximum number of texts in one request. */
const batch = 64;
/** Timeout of one request, in milliseconds. */
const timeoutMs = 60_000;

/**
 * Creates the embedding model of one entry of `model_groups`: the first of its models, behind any
 * endpoint with OpenAI's `/embeddings` API. Throws `CONFIGURATION_INVALID` as `createModel` does; makes
 * no request.
 * @example
 * const embedder = createEmbedder({ id: 'e', models: [{ provider: 'openai', model: 'text-embedding-3-small' }] });
 * const [vector] = await embedder.embed(['What does a transfer cost?']);
 */
export function createEmbedder(config: unknown, options: CreateModelOptions = {}): Embedder {
  const group = readModelGroup(config);
  const { environment = process.env } = options;
  const [entry] = group.models;
  if (entry === undefined) throw new Error('a model group has a model');
  const where = `model group "${group.id}": models[0]`;
  const endpoint = resolveEndpoint(entry, where, environment);
  const fetch = modelFetch(entry, where, options);
  const load = async () => {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const { baseUrl, apiKey, headers, queryParameters, modelId } = endpoint;
    return createOpenAICompatible({
      name: entry.provider,
      baseURL: baseUrl,
      headers: { ...headers },
      ...(apiKey !== undefined && { apiKey }),
      ...(queryParameters !== undefined && { queryParams: { ...queryParameters } }),
      ...(fetch !== undefined && { fetch }),
    }).embeddingModel(modelId);
  };
  let loading: ReturnType<typeof load> | undefined;
  return embedderOf(endpoint.modelId, () => (loading ??= load()), options);
}

/**
 * Wraps an embedding model of the AI SDK as an embedder. Throws `CONFIGURATION_INVALID` for a
 * specification that is not supported.
 * @example const embedder = toEmbedder(openai.embeddingModel('text-embedding-3-small'));
 */
export function toEmbedder(
  model: AnyEmbeddingModel,
  options: Omit<CreateModelOptions, 'environment' | 'fetch'> = {},
): Embedder {
  const { specificationVersion: version }: { readonly specificationVersion?: string } = model;
  if (typeof model.doEmbed === 'function' && ['v2', 'v3', 'v4'].includes(version ?? ''))
    return embedderOf(model.modelId, async () => model, options);
  throw invalidConfiguration(
    typeof model.doEmbed === 'function'
      ? `the embedding model has specification version ${JSON.stringify(version)}; v2, v3 and v4 are supported: update the package of its provider`
      : 'the model makes no embeddings: pass an embedding model, such as openai.embeddingModel("text-embedding-3-small")',
  );
}

function embedderOf(
  modelId: string,
  load: () => Promise<AnyEmbeddingModel>,
  options: Pick<CreateModelOptions, 'logger' | 'now' | 'random'>,
): Embedder {
  const { logger: own = defaultLogger, now = Date.now, random = Math.random } = options;
  return {
    modelId,
    async embed(texts, { signal = new AbortController().signal, logger = own } = {}) {
      const model = await load();
      const size = Math.max(1, Math.min(batch, (await model.maxEmbeddingsPerCall) ?? batch));
      const vectors: Float32Array[] = [];
      for (let at = 0; at < texts.length; at += size) {
        const values = texts.slice(at, at + size);
        const ask = async () => {
          const message = `the embedding model did not answer within ${timeoutMs / 1000} s`;
          const reason = () => new DOMException(message, 'TimeoutError');
          using deadline = new Deadline({ signal, milliseconds: timeoutMs, reason });
          const { embeddings, usage } = await model.doEmbed({
            values,
            abortSignal: deadline.signal,
          });
          return { embeddings, usage: { input: usage?.tokens ?? 0, output: 0 } };
        };
        const retrying = { retries: 2, signal, logger, now, random };
        const { embeddings } = await retryModel(model, retrying, ask, 'embeddings');
        if (embeddings.length !== values.length) {
          throw new LegateError(
            'INTERNAL',
            `model ${modelId} answered ${values.length} texts with ${embeddings.length} vectors`,
          );
        }
        vectors.push(...embeddings.map((each) => Float32Array.from(each)));
      }
      return vectors;
    },
  };
}
