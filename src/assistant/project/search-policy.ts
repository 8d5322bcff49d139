import type { Field, Section } from '../../config/index.ts';
import type { Use } from '../domain/uses.ts';
import { readFilePath, readModelGroupName } from './readers.ts';

/** What happens without the embedding model, for messages. */
const foundByWords = 'documents are found by their words';
/** The store that indexes a folder of documents. */
const local = 'faiss';

/** Reads `EnterpriseSearchPolicy` of config.yml. */
export function readSearchPolicy(item: Field, uses: Use[]) {
  const section = item.isMapping() ? item.section() : undefined;
  section?.get('name');
  const store = section?.section('vector_store');
  const embeddings = section?.section('embeddings');
  const policy = {
    /** The place of the policy, for warnings. */
    place: item.place,
    /** The folder of documents, relative to the project folder. */
    source: readSource(store),
    /** Least similarity of an embedded passage. */
    threshold: store?.number('threshold', { minimum: 0 }) ?? 0,
    modelGroup: section && readModelGroupName(section, uses, 'the best passage is the answer'),
    embeddingGroup: embeddings && readModelGroupName(embeddings, uses, foundByWords, embeddings),
    /** A key of `Project.files`. */
    promptTemplate: readFilePath(
      section?.get('prompt_template') ?? section?.get('prompt'),
      'template',
      uses,
    ),
    hasCitations: section?.boolean('citation_enabled') ?? true,
    isGenerative: section?.boolean('use_generative_llm') ?? true,
    checksRelevancy: section?.boolean('check_relevancy') ?? true,
    maxMessagesInQuery:
      section?.number('max_messages_in_query', { minimum: 1, isInteger: true }) ?? 1,
  };
  for (const key of ['include_date_time', 'timezone', 'trace_prompt_tokens', 'max_history'])
    section?.get(key);
  store?.finishLeniently();
  embeddings?.finishLeniently();
  section?.finishLeniently();
  return policy;
}

/** Reads the folder of documents. A store other than the local one is a warning. */
function readSource(store: Section | undefined): string {
  const type = store?.name('type') ?? local;
  if (type !== local) {
    store
      ?.get('type')
      ?.warn(
        `vector store "${type}" is not supported: the documents of "source" are searched instead`,
        'write a module that asks it, and name it under "search" in endpoints.yml',
      );
  }
  return store?.name('source') ?? './docs';
}

export type SearchConfig = ReturnType<typeof readSearchPolicy>;

/** The policy of a search module without a policy in config.yml. */
export const defaultSearch: Omit<SearchConfig, 'place'> = {
  source: './docs',
  threshold: 0,
  modelGroup: undefined,
  embeddingGroup: undefined,
  promptTemplate: undefined,
  hasCitations: true,
  isGenerative: true,
  checksRelevancy: true,
  maxMessagesInQuery: 1,
};
