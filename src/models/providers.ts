import { invalidConfiguration } from '../protocol/index.ts';
import type { ModelConfig } from './model-group.ts';

interface Provider {
  /** The default base URL; providers without one need `api_base`. */
  readonly baseUrl?: string;
  /** Environment variables of the base URL, read if the configuration has none. */
  readonly baseVariables?: readonly string[];
  /** The environment variable of the key, read if the configuration has none. */
  readonly keyVariable?: string;
  /** A deprecated name of that variable. */
  readonly earlierKeyVariable?: string;
  /** Whether calls need a key, or which hosts need one. */
  readonly needsKey?: boolean | RegExp;
  readonly structuredOutput?: boolean;
}

/** Services with a chat completions API, by the provider names that projects use. */
const providers: ReadonlyMap<string, Provider> = new Map(
  Object.entries<Provider>({
    openai: {
      baseUrl: 'https://api.openai.com/v1',
      baseVariables: ['OPENAI_API_BASE', 'OPENAI_BASE_URL'],
      keyVariable: 'OPENAI_API_KEY',
      needsKey: true,
      structuredOutput: true,
    },
    azure: {
      baseVariables: ['AZURE_API_BASE'],
      keyVariable: 'AZURE_API_KEY',
      needsKey: true,
      structuredOutput: true,
    },
    ollama: { baseUrl: 'http://127.0.0.1:11434/v1', structuredOutput: true },
    'self-hosted': {},
    // Models of Rasa, at the api_base of the project: only Rasa's own servers need a license.
    rasa: {
      keyVariable: 'RASA_LICENSE',
      earlierKeyVariable: 'RASA_PRO_LICENSE',
      needsKey: /(?:^|\.)rasa\.(?:ai|com)$/,
    },
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
 * Environment variables of the keys of AI SDK packages, where they differ from `providers`; by the
 * `provider` of their models.
 */
const packageKeys: Readonly<Record<string, string>> = {
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
  'azure-openai': 'AZURE_API_KEY',
  'amazon-bedrock': 'AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,',
  gateway: 'AI_GATEWAY_API_KEY',
  perplexity: 'PERPLEXITY_API_KEY',
  fireworks: 'FIREWORKS_API_KEY',
  cerebras: 'CEREBRAS_API_KEY',
};

/**
 * What to check when the service rejects the key of a model from an AI SDK package; undefined for an
 * unknown provider. `provider` is the model's, such as `openai.responses`.
 * @example packageKeyHint('anthropic.messages') // 'check ANTHROPIC_API_KEY in the environment, or ...'
 */
export function packageKeyHint(provider: string): string | undefined {
  // Vertex uses the credentials of Google Cloud, not a key.
  if (provider.startsWith('google.vertex'))
    return 'check the credentials of Google Cloud: gcloud auth application-default login';
  const name = provider.split('.', 1)[0] ?? '';
  const known = Object.hasOwn(packageKeys, name) ? packageKeys[name] : undefined;
  const variable = known ?? providers.get(name)?.keyVariable;
  if (variable === undefined) return undefined;
  return `check ${variable} in the environment, or the apiKey that its package was given`;
}

/**
 * Whether models of a provider can be called: a known provider, or one with the URL of a
 * compatible server.
 * @example isProvider('mine', 'http://localhost:8000/v1') // true
 */
export function isProvider(name: string, apiBase: unknown): boolean {
  return providers.has(name) || typeof apiBase === 'string';
}

/**
 * The endpoint of a model, and how to call it.
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
  /** What to check when the service rejects the key. */
  readonly keyHint?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly queryParameters?: Readonly<Record<string, string>>;
  readonly structuredOutput: boolean;
}

/**
 * Resolves one model's configuration to an endpoint; throws if something is missing.
 * @example const endpoint = resolveEndpoint(config, 'model_groups[0]', process.env);
 */
export function resolveEndpoint(
  config: ModelConfig,
  where: string,
  environment: Readonly<Record<string, string | undefined>>,
): Endpoint {
  // Any provider name with an api_base means a compatible server.
  const provider =
    providers.get(config.provider) ?? (config.api_base === undefined ? undefined : {});
  if (provider === undefined) {
    throw invalidConfiguration(
      `${where}: unknown provider "${config.provider}"; known are ${[...providers.keys()].join(', ')}. ` +
        'Any other service that offers chat completions works as "openai-compatible" with its api_base',
    );
  }
  const modelId = config.model ?? config.deployment;
  if (modelId === undefined)
    throw invalidConfiguration(`${where}: no "model"; name the model to ask`);

  const apiKey = config.api_key ?? keyIn(environment, provider);
  if (!apiKey && needsKey(provider, config)) {
    throw invalidConfiguration(
      `${where}: no key for ${config.provider}; set ${provider.keyVariable} in the environment, or the key in its entry`,
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
  const url = baseOf(config, provider, where, environment);
  // Ollama's own address has no path; the compatible API is below /v1.
  if (config.provider === 'ollama' && url.pathname === '/') url.pathname = '/v1';
  const baseUrl = url.href.replace(/\/$/, '');
  if (!isAzure) return { ...endpoint, baseUrl };
  const version = config.api_version ?? environment['AZURE_API_VERSION'];
  return azureEndpoint({ ...endpoint, baseUrl }, config.deployment ?? modelId, version, where);
}

function keyIn(
  environment: Readonly<Record<string, string | undefined>>,
  { keyVariable, earlierKeyVariable }: Provider,
): string | undefined {
  return [keyVariable, earlierKeyVariable]
    .map((name) => (name === undefined ? undefined : environment[name]))
    .find((key) => key !== undefined && key !== '');
}

function needsKey({ needsKey: rule = false }: Provider, { api_base: base }: ModelConfig): boolean {
  if (typeof rule === 'boolean') return rule;
  return base !== undefined && URL.canParse(base) && rule.test(new URL(base).hostname);
}

function keyHintOf(config: ModelConfig, { keyVariable }: Provider, where: string): string {
  if (config.api_key !== undefined) return `check api_key of ${where}`;
  if (keyVariable === undefined) return `set api_key of ${where}`;
  return `check ${keyVariable} in the environment, or set api_key of ${where}`;
}

/** Azure expects the deployment in the path, the version in the query and the key in its own header. */
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
    throw invalidConfiguration(`${where}: azure needs api_version, for example "2024-10-21"`);
  }
  return {
    ...endpoint,
    baseUrl: `${baseUrl}/openai/deployments/${encodeURIComponent(deployment)}`,
    headers,
    queryParameters: { 'api-version': version },
  };
}

/** The base URL from the entry, else from the environment, else the default of the provider. */
function baseOf(
  config: ModelConfig,
  { baseVariables = [], baseUrl }: Provider,
  where: string,
  environment: Readonly<Record<string, string | undefined>>,
): URL {
  if (config.api_base !== undefined) return checkUrl(config.api_base, `${where}: api_base`);
  for (const name of baseVariables) {
    const given = environment[name];
    if (given) return checkUrl(given, `${name} in the environment`);
  }
  if (baseUrl !== undefined) return checkUrl(baseUrl, where);
  throw invalidConfiguration(
    `${where}: provider "${config.provider}" needs api_base, the URL of its server`,
  );
}

/** `what`: the source of the URL. */
function checkUrl(given: string, what: string): URL {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw invalidConfiguration(
      `${what} must be an http or https URL, for example http://127.0.0.1:8000/v1`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidConfiguration(`${what} must not hold a user or password; use api_key: \${...}`);
  }
  return url;
}
