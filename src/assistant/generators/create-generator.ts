import type { LanguageModelV4 } from '@ai-sdk/provider';
import { suggest } from '../../config/index.ts';
import { invalidConfiguration } from '../../protocol/index.ts';
import { defaultLogger, type Logger } from '../../telemetry/index.ts';
import type { CommandGenerator } from '../commands/generator.ts';
import type { GeneratorConfig } from '../project/config-file.ts';
import { llmGenerator } from './llm/llm-generator.ts';
import { matchingGenerator } from './matching/matching-generator.ts';
import type { MatchingOptions } from './matching/turn.ts';

/**
 * Options of `createGenerator`.
 * @example
 * const options: CreateGeneratorOptions = {
 *   models: createModels([...project.endpoints.modelGroups.values()]),
 *   files: project.files, matching: { dateOrder: 'month-day' },
 * };
 */
export interface CreateGeneratorOptions {
  /** The models of the project, keyed by the id of their group. @default none */
  readonly models?: ReadonlyMap<string, LanguageModelV4>;
  /** Files that the configuration refers to: `Project.files`. @default none */
  readonly files?: ReadonlyMap<string, string>;
  /** Options of the matching generator. */
  readonly matching?: MatchingOptions;
  /** `language` of config.yml, for the matching generator. @default 'en' */
  readonly language?: string;
  readonly logger?: Logger;
}

/**
 * The command generator of a project: the LLM generator if the pipeline names one and its model
 * is available, otherwise the matching generator. A pipeline with an LLM generator without any
 * model groups in endpoints.yml falls back to matching, with a warning; a missing named group is
 * an error.
 * @example createGenerator(project.config.generator, { models, files: project.files })
 */
export function createGenerator(
  config: GeneratorConfig | undefined,
  options: CreateGeneratorOptions = {},
): CommandGenerator {
  const { models = new Map<string, LanguageModelV4>(), logger = defaultLogger } = options;
  const withoutModel = (): CommandGenerator =>
    matchingGenerator({
      ...(config !== undefined && { timeZone: config.timezone }),
      ...(options.language !== undefined && { language: options.language }),
      ...options.matching,
    });
  if (config === undefined) return withoutModel();
  const model = findModel(config, models);
  if (model === undefined) {
    logger.warn({ component: config.component, used: 'matching' }, 'generator.no_model');
    return withoutModel();
  }
  const { promptTemplate } = config;
  const template = promptTemplate === undefined ? undefined : options.files?.get(promptTemplate);
  if (promptTemplate !== undefined && template === undefined) {
    throw invalidConfiguration(`no prompt template ${promptTemplate}`);
  }
  return llmGenerator({
    model,
    commands: config.commands,
    flowRetrieval: config.flowRetrieval,
    maxCharacters: config.maxCharacters,
    includeDateTime: config.includeDateTime,
    timezone: config.timezone,
    logger,
    ...(template !== undefined && { promptTemplate: template }),
  });
}

function findModel(
  config: GeneratorConfig,
  models: ReadonlyMap<string, LanguageModelV4>,
): LanguageModelV4 | undefined {
  const { modelGroup, component } = config;
  // Without a name, the only group is used.
  if (modelGroup === undefined) return models.size === 1 ? [...models.values()][0] : undefined;
  const model = models.get(modelGroup);
  if (model !== undefined || models.size === 0) return model;
  const ids = [...models.keys()];
  const hint = suggest(modelGroup, ids, `there are ${ids.join(', ')}`);
  throw invalidConfiguration(`${component}: no model group "${modelGroup}"; ${hint}`);
}
