import { LegateError } from '../protocol/index.ts';
import type { ModelConfig } from './model-group.ts';

interface Provider {
  /** Where the service is; providers without one need `api_base`. */
  readonly baseUrl?: string;
  /** The environment variable that holds the key when the configuration names none. */
  readonly keyVariable?: string;
  /** Whether a call without a key is pointless. */
  readonly needsKey?: boolean;
  readonly structuredOutput?: boolean;
}

/** Services that speak the chat completions protocol, by the names that projects use for them. */
const providers: ReadonlyMap<string, Provider> = new Map(
  Object.entries<Provider>({
    openai: {
      baseUrl: 'https://api.openai.com/v1',
      keyVariable: 'OPENAI_API_KEY',
      needsKey: true,
      structuredOutput: true,
    },
    azure: { keyVariable: 'AZURE_API_KEY', needsKey: true, structuredOutput: true },
    ollama: { baseUrl: 'http://127.0.0.1:11434/v1', structuredOutput: true },
    'self-hosted': {},
    // Rasa's own models, at the api_base that projects name.
    rasa: { keyVariable: 'RASA_LICENSE' },
    'openai-compatible': {},
    hosted_vllm: {},
    litellm_proxy: { keyVariable: 'LITELLM_PROXY_API_KEY' },
    anthropic: {
      baseUrl: 'https://api.anthropic.com/v1',
      keyVariable: 'ANTHROPIC_API_KEY',
      needsKey: true,
    },
    deepseek: {
      baseUrl: 'https://api.deepseek.com/v1',
      keyVariable: 'DEEPSEEK_API_KEY',
      needsKey: true,
    },
    gemini: {
      baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
      keyVariable: 'GEMINI_API_KEY',
      needsKey: true,
      structuredOutput: true,
    },
    groq: {
      baseUrl: 'https://api.groq.com/openai/v1',
      keyVariable: 'GROQ_API_KEY',
      needsKey: true,
    },
    mistral: {
      baseUrl: 'https://api.mistral.ai/v1',
      keyVariable: 'MISTRAL_API_KEY',
      needsKey: true,
      structuredOutput: true,
    },
    deepinfra: {
      baseUrl: 'https://api.deepinfra.com/v1/openai',
      keyVariable: 'DEEPINFRA_API_KEY',
      needsKey: true,
    },
    together_ai: {
      baseUrl: 'https://api.together.xyz/v1',
      keyVariable: 'TOGETHERAI_API_KEY',
      needsKey: true,
    },
    cohere: {
      baseUrl: 'https://api.cohere.ai/compatibility/v1',
      keyVariable: 'COHERE_API_KEY',
      needsKey: true,
    },
    xai: { baseUrl: 'https://api.x.ai/v1', keyVariable: 'XAI_API_KEY', needsKey: true },
    openrouter: {
      baseUrl: 'https://openrouter.ai/api/v1',
      keyVariable: 'OPENROUTER_API_KEY',
      needsKey: true,
    },
  }),
);

/**
 * Whether models of a provider can be asked: a known one, or one with the URL of a compatible server.
 * @example isProvider('mine', 'http://localhost:8000/v1') // true
 */
export function isProvider(name: string, apiBase: unknown): boolean {
  return providers.has(name) || typeof apiBase === 'string';
}

/**
 * Where a model is and how to ask it.
 * @example
 * const endpoint: Endpoint = {
 *   baseUrl: 'http://127.0.0.1:11434/v1',
 *   modelId: 'qwen3',
 *   headers: {},
 *   structuredOutput: true,
 * };
 */
export interface Endpoint {
  readonly baseUrl: string;
  readonly modelId: string;
  readonly apiKey?: string;
  /** What to check when the service refuses the key. */
  readonly keyHint?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly queryParameters?: Readonly<Record<string, string>>;
  readonly structuredOutput: boolean;
}

/**
 * Turns one model's configuration into an endpoint, or says what it lacks.
 * @example const endpoint = resolveEndpoint(config, 'model_groups[0]', process.env);
 */
export function resolveEndpoint(
  config: ModelConfig,
  where: string,
  environment: Readonly<Record<string, string | undefined>>,
): Endpoint {
  // Behind an api_base there is a compatible server, whatever the provider is called.
  const provider =
    providers.get(config.provider) ?? (config.api_base === undefined ? undefined : {});
  if (provider === undefined) {
    throw invalid(
      `${where}: unknown provider "${config.provider}"; known are ${[...providers.keys()].join(', ')}. ` +
        'Any other service that offers chat completions works as "openai-compatible" with its api_base',
    );
  }
  const modelId = config.model ?? config.deployment;
  if (modelId === undefined) throw invalid(`${where}: no "model"; name the model to ask`);

  const apiKey =
    config.api_key ?? (provider.keyVariable ? environment[provider.keyVariable] : undefined);
  if (provider.needsKey === true && !apiKey) {
    throw invalid(
      `${where}: no key for ${config.provider}; set ${provider.keyVariable} in the environment or api_key: \${...}`,
    );
  }
  const endpoint = {
    modelId,
    headers: config.extra_headers ?? {},
    structuredOutput: config.structured_output ?? provider.structuredOutput ?? false,
    keyHint: keyHintOf(config, provider, where),
    ...(apiKey && { apiKey }),
  };
  const isAzure = config.provider === 'azure';
  const given =
    config.api_base ?? (isAzure ? environment['AZURE_API_BASE'] : undefined) ?? provider.baseUrl;
  if (given === undefined) {
    throw invalid(`${where}: provider "${config.provider}" needs api_base, the URL of its server`);
  }
  const url = checkUrl(given, where);
  // Ollama's own address has no path; the compatible API is below /v1.
  if (config.provider === 'ollama' && url.pathname === '/') url.pathname = '/v1';
  const baseUrl = url.href.replace(/\/$/, '');
  if (!isAzure) return { ...endpoint, baseUrl };
  const version = config.api_version ?? environment['AZURE_API_VERSION'];
  return azureEndpoint({ ...endpoint, baseUrl }, config.deployment ?? modelId, version, where);
}

function keyHintOf(config: ModelConfig, { keyVariable }: Provider, where: string): string {
  if (config.api_key !== undefined) return `check api_key of ${where}`;
  if (keyVariable === undefined) return `set api_key of ${where}`;
  return `check ${keyVariable} in the environment, or set api_key of ${where}`;
}

/** Azure names a deployment in the path, the version in the query and the key in its own header. */
function azureEndpoint(
  { apiKey, ...endpoint }: Endpoint,
  deployment: string,
  version: string | undefined,
  where: string,
): Endpoint {
  const headers = { ...(apiKey !== undefined && { 'api-key': apiKey }), ...endpoint.headers };
  const { baseUrl } = endpoint;
  if (baseUrl.endsWith('/openai/v1')) return { ...endpoint, headers };
  if (version === undefined) {
    throw invalid(`${where}: azure needs api_version, for example "2024-10-21"`);
  }
  return {
    ...endpoint,
    baseUrl: `${baseUrl}/openai/deployments/${encodeURIComponent(deployment)}`,
    headers,
    queryParameters: { 'api-version': version },
  };
}

function checkUrl(given: string, where: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw invalid(
      `${where}: api_base must be an http or https URL, for example http://127.0.0.1:8000/v1`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(`${where}: api_base must not hold a user or password; use api_key: \${...}`);
  }
  return url;
}

function invalid(message: string): LegateError {
  return new LegateError('CONFIGURATION_INVALID', message);
}
