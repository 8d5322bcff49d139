import type { LanguageModelV4 } from '@ai-sdk/provider';
import { present } from '../config/index.ts';
import { clientTls } from '../net/index.ts';
import { invalidConfiguration, isEncryptedOrLocal } from '../protocol/index.ts';
import { tlsFetch } from '../push/index.ts';
import { defaultLogger, type Logger } from '../telemetry/index.ts';
import { CompatibleModel, configuredTimeoutMs, defaultTimeoutMs } from './compatible-model.ts';
import { type ModelConfig, type ModelGroup, readModelGroup, unknownKeys } from './model-group.ts';
import { resolveEndpoint } from './providers.ts';
import { RoutedModel } from './routed-model.ts';

/**
 * Options of models beside their configuration.
 * @example const options: CreateModelOptions = { environment: { OPENAI_API_KEY: await vault.read('openai') } };
 */
export interface CreateModelOptions {
  /** Where API keys are looked up that the configuration does not contain. @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Makes the requests. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch;
  /** The clock, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** Returns a number in [0, 1), for the jitter of retries. @default Math.random */
  readonly random?: () => number;
  /** Where log lines go. */
  readonly logger?: Logger;
  /** Paths of `tls` are relative to it. @default the working directory */
  readonly directory?: string;
}

/**
 * Creates the model of one entry of `model_groups`: any endpoint with a chat completions API. A group
 * of several models acts as one model: it tries them in order or shuffled (`router.routing_strategy`).
 * Throws `CONFIGURATION_INVALID` for an unknown provider, a missing key or a bad URL; makes no request.
 * @example createModel({ id: 'local', models: [{ provider: 'ollama', model: 'qwen3' }] })
 */
export function createModel(config: unknown, options: CreateModelOptions = {}): LanguageModelV4 {
  const group = readModelGroup(config);
  const { environment = process.env, logger = defaultLogger } = options;
  const keys = unknownKeys(group);
  if (keys.length > 0) logger.warn({ group: group.id, keys }, 'models.keys_ignored');

  // The next model of a group must be tried while the time of the caller lasts.
  const longest = Math.max(0, ...group.models.map((entry) => configuredTimeoutMs(entry) ?? 0));
  const unconfiguredTimeoutMs = group.models.length > 1 ? longest || defaultTimeoutMs : undefined;
  const models = group.models.map((entry, index) => {
    const where = `model group "${group.id}": models[${index}]`;
    const endpoint = resolveEndpoint(entry, where, environment);
    if (endpoint.apiKey !== undefined && !isEncryptedOrLocal(new URL(endpoint.baseUrl))) {
      logger.warn({ group: group.id, url: endpoint.baseUrl }, 'models.key_over_plain_http');
    }
    const fetch = modelFetch(entry, where, options);
    return new CompatibleModel(entry, endpoint, { fetch, unconfiguredTimeoutMs });
  });
  const only = models.length === 1 ? models[0] : undefined;
  if (only !== undefined) return only;

  const { router } = group;
  return new RoutedModel(models, {
    id: group.id,
    strategy: strategyOf(group, logger),
    logger,
    ...(router?.allowed_fails !== undefined && { allowedFails: router.allowed_fails }),
    ...(router?.cooldown_time !== undefined && { cooldownMs: router.cooldown_time * 1000 }),
    ...(options.now !== undefined && { now: options.now }),
    ...(options.random !== undefined && { random: options.random }),
  });
}

/**
 * A `fetch` with the TLS files of the model, if it has any.
 * @example const fetch = modelFetch(config, 'model group "commands"', { directory: project.directory });
 */
export function modelFetch(
  { tls }: ModelConfig,
  what: string,
  { fetch, directory, logger }: CreateModelOptions,
): typeof globalThis.fetch | undefined {
  return tls === undefined
    ? fetch
    : tlsFetch(clientTls(tls, { what, ...present({ directory, logger }) }));
}

/**
 * Creates the models of all groups, by id. Throws for a duplicate id.
 * @example const model = createModels(config.model_groups).get('commands');
 */
export function createModels(
  groups: readonly unknown[],
  options: CreateModelOptions = {},
): ReadonlyMap<string, LanguageModelV4> {
  const models = new Map<string, LanguageModelV4>();
  for (const config of groups) {
    const { id } = readModelGroup(config);
    if (models.has(id)) {
      throw invalidConfiguration(`model group "${id}" is defined twice`);
    }
    models.set(id, createModel(config, options));
  }
  return models;
}

/** Legate takes no measurements, so strategies that need them are replaced by `simple-shuffle`. */
function strategyOf(group: ModelGroup, logger: Logger): 'fallback' | 'simple-shuffle' {
  const strategy = group.router?.routing_strategy;
  if (strategy === undefined || strategy === 'fallback') return 'fallback';
  if (strategy !== 'simple-shuffle') {
    logger.warn({ group: group.id, strategy, used: 'simple-shuffle' }, 'models.strategy_replaced');
  }
  return 'simple-shuffle';
}
