import { join } from 'node:path';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { z } from 'zod';
import { importModule } from '../../config/index.ts';
import { createEmbedder } from '../../models/index.ts';
import { invalidConfiguration, LegateError } from '../../protocol/index.ts';
import { PassageIndex, passagesOf, wordsOf } from '../../search/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { languageFor } from '../generators/words/language.ts';
import type { Project } from '../project/load-project.ts';
import { findModule } from '../project/project-folder.ts';
import { defaultSearch } from '../project/search-policy.ts';
import {
  type Knowledge,
  knowledgeOf,
  type KnowledgePassage,
  type KnowledgeSearch,
} from './knowledge.ts';
import { cachedEmbed } from './vector-cache.ts';

export interface KnowledgeOptions {
  /** Models by the ids of their groups. */
  readonly models: ReadonlyMap<string, LanguageModelV4>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
}

/** Least part of the question that a passage must cover, if no model checks its relevance. */
const leastFit = 0.15;

/**
 * Creates the search of a project: a module of the project, or a search of its documents. Undefined if the
 * project has neither.
 */
export async function createKnowledge(
  project: Project,
  { models, environment, logger }: KnowledgeOptions,
): Promise<Knowledge | undefined> {
  const { config, endpoints, documents, files } = project;
  if (config.search === undefined && endpoints.search === undefined) return undefined;
  const policy = config.search ?? defaultSearch;
  const group = policy.modelGroup ?? config.generator?.modelGroup;
  const model = group === undefined || !policy.isGenerative ? undefined : models.get(group);
  const search =
    endpoints.search === undefined
      ? await documentSearch(project, { environment, logger, isJudged: model !== undefined })
      : await moduleSearch(endpoints.search.module, project.directory);
  if (search === undefined) return undefined;
  logger.info({ documents: documents.length }, 'search.ready');
  const template =
    policy.promptTemplate === undefined ? undefined : files.get(policy.promptTemplate);
  return knowledgeOf({
    config: policy,
    search,
    model,
    promptTemplate: template,
    slots: project.domain.slots,
  });
}

async function documentSearch(
  { config, endpoints, documents, directory }: Project,
  {
    environment,
    logger,
    isJudged,
  }: Pick<KnowledgeOptions, 'environment' | 'logger'> & {
    /** Whether a model decides if passages answer the question. */
    readonly isJudged: boolean;
  },
): Promise<KnowledgeSearch | undefined> {
  const policy = config.search ?? defaultSearch;
  if (documents.length === 0) return undefined;
  const passages = documents.flatMap(passagesOf);
  const group = endpoints.modelGroups.get(policy.embeddingGroup ?? '');
  const index = await buildIndex();
  const { fillers, weak } = languageFor(config.language);
  return async (query, { limit, signal }) => {
    const keywords = wordsOf(query).filter((word) => !fillers.has(word) && !weak.has(word));
    const asked = index.isEmbedded || keywords.length === 0 ? query : keywords.join(' ');
    const found = await index.search(asked, { limit, signal });
    const least = { meaning: policy.threshold, words: isJudged ? 0 : leastFit };
    return found.filter(({ score, by }) => score >= least[by]).map(({ passage }) => passage);
  };

  async function buildIndex(): Promise<PassageIndex> {
    if (group === undefined) return PassageIndex.build(passages);
    const failed = (error: unknown): void =>
      logger.warn(
        { group: policy.embeddingGroup, error, used: 'words' },
        'search.embedding_failed',
      );
    try {
      const embedder = createEmbedder(group, { environment, logger, directory });
      const file = join(directory, '.legate', 'search-vectors');
      return await PassageIndex.build(passages, {
        embedPassages: cachedEmbed(embedder, { file, logger }),
        embedQuery: (texts, about) =>
          embedder.embed(texts, about).catch((error: unknown) => {
            about.signal?.throwIfAborted();
            failed(error);
            return [];
          }),
      });
    } catch (error) {
      failed(error);
      return PassageIndex.build(passages);
    }
  }
}

const moduleSchema = z.object({
  search: z.custom<(...values: Parameters<KnowledgeSearch>) => unknown>(
    (value) => typeof value === 'function',
  ),
});

const found = z.array(
  z.object({
    text: z.string().min(1),
    source: z.string().default('search'),
    title: z.string().optional(),
  }),
);

async function moduleSearch(named: string, directory: string): Promise<KnowledgeSearch> {
  const path = findModule(named, [directory]);
  if (path === undefined)
    throw invalid(`there is no module ${named}; write a path such as ./search.ts`);
  const module = moduleSchema.safeParse({ ...(await importModule(path)) });
  if (!module.success) throw invalid(`${named} exports no function "search"`);
  return async (query, context): Promise<readonly KnowledgePassage[]> => {
    const passages = found.safeParse(await module.data.search(query, context));
    if (passages.success) return passages.data.slice(0, context.limit);
    throw new LegateError(
      'INTERNAL',
      `search of ${named} must return a list of {text, source}: ${passages.error.issues[0]?.message}`,
    );
  };
}

function invalid(message: string): LegateError {
  return invalidConfiguration(`endpoints.yml: search: ${message}`);
}
