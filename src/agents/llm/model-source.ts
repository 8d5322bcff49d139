import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { suggest } from '../../config/index.ts';
import type { AnyEmbeddingModel, AnyLanguageModel, Embedder } from '../../models/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';
import { findPackage } from '../find-package.ts';

/**
 * The model of an agent:
 * - a model of the AI SDK, specification v2, v3 or v4;
 * - `provider/model`, from the installed package of the provider: `openai/gpt-5`,
 *   `anthropic/claude-opus-5`;
 * - the id of a model group of endpoints.yml in the working directory, or such a group itself.
 * @example const sources: readonly ModelSource[] = ['ollama/qwen3', { id: 'local', models: [{ provider: 'ollama', model: 'qwen3' }] }];
 */
export type ModelSource = AnyLanguageModel | string | ModelGroupSource;

/**
 * An embedding model, in the same forms and with the same names as a language model.
 * @example const source: EmbeddingModelSource = 'openai/text-embedding-3-small';
 */
export type EmbeddingModelSource = AnyEmbeddingModel | string | ModelGroupSource;

/** A model group, as in endpoints.yml. */
interface ModelGroupSource {
  readonly id: string;
  readonly models: readonly object[];
  readonly router?: object;
}

interface ProviderPackage {
  readonly package: string;
  /** The export that creates models by their ids. */
  readonly name: string;
  /** The service has a chat completions API, which needs no package. */
  readonly isBuiltIn?: boolean;
}

const packages: Readonly<Record<string, ProviderPackage>> = {
  openai: { package: '@ai-sdk/openai', name: 'openai', isBuiltIn: true },
  anthropic: { package: '@ai-sdk/anthropic', name: 'anthropic' },
  google: { package: '@ai-sdk/google', name: 'google' },
  gemini: { package: '@ai-sdk/google', name: 'google' },
  vertex: { package: '@ai-sdk/google-vertex', name: 'vertex' },
  azure: { package: '@ai-sdk/azure', name: 'azure' },
  bedrock: { package: '@ai-sdk/amazon-bedrock', name: 'bedrock' },
  mistral: { package: '@ai-sdk/mistral', name: 'mistral', isBuiltIn: true },
  groq: { package: '@ai-sdk/groq', name: 'groq', isBuiltIn: true },
  deepseek: { package: '@ai-sdk/deepseek', name: 'deepseek', isBuiltIn: true },
  xai: { package: '@ai-sdk/xai', name: 'xai' },
  cohere: { package: '@ai-sdk/cohere', name: 'cohere' },
  openrouter: { package: '@openrouter/ai-sdk-provider', name: 'openrouter', isBuiltIn: true },
  ollama: { package: 'ollama-ai-provider-v2', name: 'ollama', isBuiltIn: true },
};

type Models = typeof import('../../models/index.ts');

/** Creates models of one kind. */
interface ModelKind<Source, Model> {
  readonly example: string;
  fromGroup(models: Models, group: object): Model;
  fromModel(models: Models, model: Source): Model;
  /** Creates a model with the export of a provider's package; undefined if it creates none. */
  fromProvider(provider: unknown, modelId: string): Source | undefined;
}

const languageModels: ModelKind<AnyLanguageModel, LanguageModelV4> = {
  example: 'openai/gpt-5',
  fromGroup: ({ createModel }, group) => createModel(group),
  fromModel: ({ toLanguageModel }, model) => toLanguageModel(model),
  fromProvider: (provider, modelId) => {
    const model: unknown = typeof provider === 'function' ? provider(modelId) : undefined;
    return isModel<AnyLanguageModel>(model) ? model : undefined;
  },
};

const embeddingModels: ModelKind<AnyEmbeddingModel, Embedder> = {
  example: 'openai/text-embedding-3-small',
  fromGroup: ({ createEmbedder }, group) => createEmbedder(group),
  fromModel: ({ toEmbedder }, model) => toEmbedder(model),
  fromProvider: (provider, modelId) => {
    if (typeof provider !== 'function') return undefined;
    // AI SDK 5 has only the second name.
    for (const name of ['embeddingModel', 'textEmbeddingModel']) {
      const create: unknown = Reflect.get(provider, name);
      const model: unknown = typeof create === 'function' ? create(modelId) : undefined;
      if (isModel<AnyEmbeddingModel>(model)) return model;
    }
    return undefined;
  },
};

type Loader<Model> = () => Promise<Model>;
export type ModelLoader = Loader<LanguageModelV4>;

/**
 * Returns a function that loads the model once. Configuration errors are reported immediately; packages
 * are loaded at the first call, so an agent that never calls its model does not load them.
 */
export function modelLoader(owner: string, source: ModelSource): ModelLoader {
  const load = once(checked(owner, source, languageModels));
  let models: Models | undefined;
  return async () => {
    models ??= await import('../../models/index.ts');
    return models.modelInScope(owner, load);
  };
}

/** The same for an embedding model. */
export function embedderLoader(owner: string, source: EmbeddingModelSource): Loader<Embedder> {
  return once(checked(owner, source, embeddingModels));
}

function once<Model>(load: Loader<Model>): Loader<Model> {
  let loaded: Promise<Model> | undefined;
  return async () => {
    try {
      return await (loaded ??= load());
    } catch (error) {
      // Load again the next time: a missing key or file may exist then.
      loaded = undefined;
      throw error;
    }
  };
}

function checked<Source extends { readonly specificationVersion: string }, Model>(
  owner: string,
  source: Source | string | ModelGroupSource,
  kind: ModelKind<Source, Model>,
): Loader<Model> {
  if (typeof source === 'string') {
    if (source === '')
      throw invalidConfiguration(`${owner}: its model has no name; write "${kind.example}"`);
    const meant = meantBy(source);
    if (meant !== undefined && !isGroup(source))
      throw invalidConfiguration(`${owner}: no model is named "${source}"; write "${meant}"`);
    const at = source.indexOf('/');
    if (at < 0) return () => fromEndpoints(owner, source, kind);
    return fromPackage(owner, source.slice(0, at), source.slice(at + 1), kind);
  }
  if (source instanceof Promise)
    throw invalidConfiguration(`${owner}: the model is a promise; await it first`);
  if (typeof source !== 'object' || source === null)
    throw invalidConfiguration(
      `${owner}: no model; pass one of the AI SDK, or a name such as "${kind.example}"`,
    );
  if ('models' in source)
    return async () => kind.fromGroup(await import('../../models/index.ts'), source);
  const { specificationVersion: version } = source;
  if (version === undefined)
    throw invalidConfiguration(
      `${owner}: the object is neither a model of the AI SDK nor a model group ({ id, models })`,
    );
  if (!['v2', 'v3', 'v4'].includes(version))
    throw invalidConfiguration(
      `${owner}: the model has specification version ${JSON.stringify(version)}; v2, v3 and v4 are supported: update the package of its provider`,
    );
  return async () => kind.fromModel(await import('../../models/index.ts'), source);
}

/** Prefixes of model names, and their providers. */
const families: readonly (readonly [RegExp, string])[] = [
  // In the form of `ollama pull`.
  [/^(?:llama|qwen|gemma|phi|gpt-oss|deepseek-r)[\w.-]*(?::|$)/, 'ollama'],
  [/^(?:gpt-|chatgpt-|o[134](?:-|$)|text-embedding-3)/, 'openai'],
  [/^claude-/, 'anthropic'],
  [/^(?:gemini-|text-embedding-00)/, 'google'],
  [/^(?:mistral-|magistral-|codestral-|ministral-|pixtral-)/, 'mistral'],
  [/^deepseek-(?:chat|reasoner)/, 'deepseek'],
  [/^grok-/, 'xai'],
  [/^command-/, 'cohere'],
];

/** Returns `provider/model` for a name in the form of another framework: `gpt-5` or `openai:gpt-5`. */
function meantBy(source: string): string | undefined {
  const [provider = '', ...rest] = source.split(':');
  if (rest.length > 0 && rest[0] !== '' && Object.hasOwn(packages, provider))
    return `${provider}/${rest.join(':')}`;
  if (source.includes('/')) return undefined;
  const family = families.find(([pattern]) => pattern.test(source));
  return family === undefined ? undefined : `${family[1]}/${source}`;
}

/** Whether endpoints.yml can contain a model group with this name. */
function isGroup(id: string): boolean {
  const file = resolve('endpoints.yml');
  return existsSync(file) && readFileSync(file, 'utf8').includes(id);
}

function fromPackage<Source, Model>(
  owner: string,
  provider: string,
  modelId: string,
  kind: ModelKind<Source, Model>,
): Loader<Model> {
  const known = Object.hasOwn(packages, provider) ? packages[provider] : undefined;
  if (modelId === '' || (known === undefined && !/^[a-z][a-z0-9-]*$/.test(provider)))
    throw invalidConfiguration(
      `${owner}: "${provider}/${modelId}" names no model; write "provider/model"`,
    );
  const wanted = known ?? { package: `@ai-sdk/${provider}`, name: provider };
  const file = findPackage(wanted.package);
  if (file !== undefined) return () => load(owner, file, wanted, modelId, kind);
  if (wanted.isBuiltIn === true) {
    const group = { id: `${provider}/${modelId}`, models: [{ provider, model: modelId }] };
    return async () => kind.fromGroup(await import('../../models/index.ts'), group);
  }
  const hint = known === undefined ? suggest(provider, Object.keys(packages), '') : '';
  // A misspelt provider must not lead to a package of another author.
  throw invalidConfiguration(
    hint === '' || hint === undefined
      ? `${owner}: the model "${provider}/${modelId}" needs the package ${wanted.package}: npm install ${wanted.package}`
      : `${owner}: no provider "${provider}" for the model "${provider}/${modelId}"; ${hint}`,
  );
}

async function load<Source, Model>(
  owner: string,
  file: string,
  { package: name, name: exported }: ProviderPackage,
  modelId: string,
  kind: ModelKind<Source, Model>,
): Promise<Model> {
  const [module, models]: [Readonly<Record<string, unknown>>, Models] = await Promise.all([
    import(pathToFileURL(file).href),
    import('../../models/index.ts'),
  ]);
  const model = kind.fromProvider(module[exported], modelId);
  if (model !== undefined) return kind.fromModel(models, model);
  throw invalidConfiguration(
    `${owner}: the package ${name} makes no models by "${exported}"; pass a model of it instead of a name`,
  );
}

function isModel<Model>(value: unknown): value is Model {
  return typeof value === 'object' && value !== null && 'specificationVersion' in value;
}

async function fromEndpoints<Source, Model>(
  owner: string,
  id: string,
  kind: ModelKind<Source, Model>,
): Promise<Model> {
  const file = resolve('endpoints.yml');
  const hint = 'Name a model as "provider/model"';
  if (!existsSync(file))
    throw invalidConfiguration(`${owner}: no model group "${id}": there is no ${file}. ${hint}`);
  const { Field, formatProblem, Problems, YamlFile } = await import('../../config/index.ts');
  const models = await import('../../models/index.ts');
  const problems = new Problems();
  const source = { file, text: readFileSync(file, 'utf8') };
  const yaml = YamlFile.parse(source, problems, { environment: process.env });
  const { groups } = models.readModelGroups(Field.document(yaml, problems).list('model_groups'));
  const [problem] = problems.errors;
  if (problem !== undefined) throw invalidConfiguration(`${owner}: ${formatProblem(problem)}`);
  const group = groups.get(id);
  if (group !== undefined) return kind.fromGroup(models, group);
  const names = [...groups.keys()];
  const known = suggest(id, names, `it has ${names.join(', ') || 'none'}`);
  throw invalidConfiguration(
    `${owner}: no model group "${id}" in ${file}; ${known ?? ''}. ${hint}`,
  );
}
