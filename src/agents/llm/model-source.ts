import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { suggest } from '../../config/index.ts';
import type { AnyLanguageModel } from '../../models/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { findPackage } from '../find-package.ts';

/**
 * What an agent may be given as its model:
 * - a model of the AI SDK, specification v2, v3 or v4;
 * - `provider/model`, by the provider's installed package: `openai/gpt-5`, `anthropic/claude-opus-5`;
 * - the id of a model group of endpoints.yml in the working directory, or such a group itself.
 * @example const sources: readonly ModelSource[] = ['ollama/qwen3', { id: 'local', models: [{ provider: 'ollama', model: 'qwen3' }] }];
 */
export type ModelSource =
  | AnyLanguageModel
  | string
  | { readonly id: string; readonly models: readonly object[]; readonly router?: object };

interface ProviderPackage {
  readonly package: string;
  /** The export that makes models by their ids. */
  readonly name: string;
  /** Its own protocol is chat completions, which needs no package. */
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

export type ModelLoader = () => Promise<LanguageModelV4>;

/**
 * A function that loads the model, once. Mistakes are reported at once, packages are loaded at the
 * first call: an agent that never asks its model does not pay for it.
 */
export function modelLoader(owner: string, source: ModelSource): ModelLoader {
  const load = checked(owner, source);
  let loaded: Promise<LanguageModelV4> | undefined;
  return async () => {
    try {
      return await (loaded ??= load());
    } catch (error) {
      // A key or a file may be there the next time.
      loaded = undefined;
      throw error;
    }
  };
}

function checked(owner: string, source: ModelSource): ModelLoader {
  if (typeof source === 'string') {
    const at = source.indexOf('/');
    if (at < 0) return () => fromEndpoints(owner, source);
    return fromPackage(owner, source.slice(0, at), source.slice(at + 1));
  }
  if (typeof source !== 'object' || source === null)
    throw invalid(`${owner}: no model; pass one of the AI SDK, or a name such as "openai/gpt-5"`);
  if ('models' in source)
    return async () => (await import('../../models/index.ts')).createModel(source);
  const { specificationVersion: version } = source;
  if (!['v2', 'v3', 'v4'].includes(version))
    throw invalid(
      `${owner}: the model has specification version ${JSON.stringify(version)}; v2, v3 and v4 are supported: update the package of its provider`,
    );
  return async () => (await import('../../models/index.ts')).toLanguageModel(source);
}

function fromPackage(owner: string, provider: string, modelId: string): ModelLoader {
  const known = Object.hasOwn(packages, provider) ? packages[provider] : undefined;
  if (modelId === '' || (known === undefined && !/^[a-z][a-z0-9-]*$/.test(provider)))
    throw invalid(`${owner}: "${provider}/${modelId}" names no model; write "provider/model"`);
  const wanted = known ?? { package: `@ai-sdk/${provider}`, name: provider };
  const file = findPackage(wanted.package);
  if (file !== undefined) return () => load(owner, file, wanted, modelId);
  if (wanted.isBuiltIn === true) {
    const group = { id: `${provider}/${modelId}`, models: [{ provider, model: modelId }] };
    return async () => (await import('../../models/index.ts')).createModel(group);
  }
  const hint = known === undefined ? suggest(provider, Object.keys(packages), '') : '';
  throw invalid(
    `${owner}: the model "${provider}/${modelId}" needs the package ${wanted.package}: npm install ${wanted.package}${hint === '' || hint === undefined ? '' : `; or ${hint}`}`,
  );
}

async function load(
  owner: string,
  file: string,
  { package: name, name: exported }: ProviderPackage,
  modelId: string,
): Promise<LanguageModelV4> {
  const [module, { toLanguageModel }]: [Readonly<Record<string, unknown>>, ModelsModule] =
    await Promise.all([import(pathToFileURL(file).href), import('../../models/index.ts')]);
  const create = module[exported];
  const model: unknown = typeof create === 'function' ? create(modelId) : undefined;
  if (isModel(model)) return toLanguageModel(model);
  throw invalid(
    `${owner}: the package ${name} makes no models by "${exported}"; pass a model of it instead of a name`,
  );
}

type ModelsModule = typeof import('../../models/index.ts');

function isModel(value: unknown): value is AnyLanguageModel {
  return typeof value === 'object' && value !== null && 'specificationVersion' in value;
}

async function fromEndpoints(owner: string, id: string): Promise<LanguageModelV4> {
  const file = resolve('endpoints.yml');
  const hint = 'Name a model as "provider/model"';
  if (!existsSync(file))
    throw invalid(`${owner}: no model group "${id}": there is no ${file}. ${hint}`);
  const { Field, formatProblem, Problems, YamlFile } = await import('../../config/index.ts');
  const { createModel, readModelGroups } = await import('../../models/index.ts');
  const problems = new Problems();
  const source = { file, text: readFileSync(file, 'utf8') };
  const yaml = YamlFile.parse(source, problems, { environment: process.env });
  const { groups } = readModelGroups(Field.document(yaml, problems).list('model_groups'));
  const [problem] = problems.errors;
  if (problem !== undefined) throw invalid(`${owner}: ${formatProblem(problem)}`);
  const group = groups.get(id);
  if (group !== undefined) return createModel(group);
  const names = [...groups.keys()];
  const known = suggest(id, names, `it has ${names.join(', ') || 'none'}`);
  throw invalid(`${owner}: no model group "${id}" in ${file}; ${known ?? ''}. ${hint}`);
}

function invalid(message: string): LegateError {
  return new LegateError('CONFIGURATION_INVALID', message);
}
