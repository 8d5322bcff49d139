import {
  Field,
  type OnUnset,
  type Problems,
  type Section,
  type YamlFile,
} from '../../config/index.ts';
import type { Use } from '../domain/uses.ts';
import { readFilePath, readModelGroupName, readTimezone } from './readers.ts';
import { readSearchPolicy } from './search-policy.ts';

/** Generators that use a model, and the command language of each. */
const generators: ReadonlyMap<string, 'v2' | 'v3'> = new Map([
  ['CompactLLMCommandGenerator', 'v2'],
  ['SearchReadyLLMCommandGenerator', 'v3'],
  ['SingleStepLLMCommandGenerator', 'v2'],
  ['LLMCommandGenerator', 'v2'],
  // Legate's own name.
  ['LlmCommandGenerator', 'v2'],
]);
const withoutModel = 'MatchingCommandGenerator';
const searchPolicy = 'EnterpriseSearchPolicy';
/** Components other than generators with a model. */
const builtin = new Set([withoutModel, 'FlowPolicy', searchPolicy]);

interface ConfigReading {
  readonly problems: Problems;
  readonly uses: Use[];
  /** Variables that are not set, in the order of the file. @default none */
  readonly unset?: readonly Parameters<OnUnset>[];
  readonly isProduction?: boolean;
}

/** Reads config.yml. */
export function readConfig(
  file: YamlFile,
  { problems, uses, unset = [], isProduction = false }: ConfigReading,
) {
  const section = Field.document(file, problems);
  section.get('recipe');
  const components = [section.get('pipeline'), section.get('policies')].flatMap(readComponents);
  const named = components.flatMap((item) => {
    const path = componentPath(item);
    return path === undefined ? [] : [{ item, path, name: path.split('.').at(-1) ?? path }];
  });
  const known = named.filter(({ name, path }) => generators.has(name) || isGenerator(path));
  const missing = named.filter((one) => !known.includes(one) && !builtin.has(one.name));
  if (missing.length > 0) {
    const names = [...new Set(missing.map(({ name }) => name))].join(', ');
    const hasGenerator = known.length > 0 || named.some(({ name }) => name === withoutModel);
    const instead = hasGenerator ? undefined : `${withoutModel} reads messages instead`;
    missing[0]?.item.warn(`left out, there is no such component here: ${names}`, instead);
  }
  for (const { item } of known.slice(1)) {
    item.warn('left out, there is a command generator already', 'keep one of them');
  }
  const [first] = known;
  if (first !== undefined && !generators.has(first.name)) {
    first.item.warn(
      `the class ${first.path} is left out: CompactLLMCommandGenerator reads messages instead, with ` +
        'its llm and prompt_template',
    );
  }
  const search = named.find(({ name }) => name === searchPolicy);
  const config = {
    language: section.name('language') ?? 'en',
    additionalLanguages: section.names('additional_languages'),
    assistantId: section.name('assistant_id'),
    /** The names of all components, including those that are left out. */
    components: named.map(({ name }) => name),
    /** Undefined for the generator that needs no model. */
    generator: first && readGenerator(first.name, first.item, uses),
    /** Undefined for a project without documents to search. */
    search: search && readSearchPolicy(search.item, uses),
  };
  const read = [first?.item, search?.item].flatMap((item) => item?.place.path ?? []);
  for (const [path, report] of unset) report(severityAt(path, read, isProduction));
  section.get('importers')?.keyWarn('"importers" is left out');
  section.finishLeniently();
  return config;
}

const topLevel = new Set(['recipe', 'language', 'additional_languages', 'assistant_id']);

/**
 * The severity of an unset variable. In production, it is an error in sections that Legate reads, and a
 * warning in sections that are left out. Otherwise it is a warning: defaults apply, or the project runs
 * without a model.
 */
function severityAt(
  path: Parameters<OnUnset>[0],
  read: readonly string[],
  isProduction: boolean,
): 'error' | 'warning' {
  const [key, index, option, inner] = path;
  if (!isProduction) return 'warning';
  if (topLevel.has(String(key))) return 'error';
  if (!read.includes(`${String(key)}[${String(index)}]`)) return 'warning';
  return option === 'flow_retrieval' && inner === 'embeddings' ? 'warning' : 'error';
}

/** Reads a list of components. Rasa 1 also allows the name of a whole pipeline. */
function readComponents(field: Field | undefined): readonly Field[] {
  if (typeof field?.value !== 'string') return field?.list() ?? [];
  field.warn(
    `the pipeline "${field.value}" is left out: ${withoutModel} reads messages instead`,
    'write a list of components',
  );
  return [];
}

/** Reads `- name: Component` with options, or only the name, which can be the path of a Python class. */
function componentPath(item: Field): string | undefined {
  return item.isMapping() ? item.section()?.require('name')?.name() : item.name();
}

/** Whether the name is that of a generator: a class of the project, or one of Rasa without a counterpart. */
function isGenerator(path: string): boolean {
  return /CommandGenerator\w*$/.test(path) && !path.endsWith(withoutModel);
}

const whole = { minimum: 1, isInteger: true };

/** The configuration of a command generator that uses a model. */
export type GeneratorConfig = ReturnType<typeof readGenerator>;

function readGenerator(component: string, item: Field, uses: Use[]) {
  const section = item.isMapping() ? item.section() : undefined;
  section?.get('name');
  const retrieval = section?.section('flow_retrieval');
  const input = section?.section('user_input');
  const config = {
    component,
    /** The command language in which the model answers. */
    commands: generators.get(component) ?? 'v2',
    modelGroup:
      section && readModelGroupName(section, uses, `${withoutModel} reads messages instead`),
    /** A key of `Project.files`. */
    promptTemplate: readFilePath(
      section?.get('prompt_template') ?? section?.get('prompt'),
      'template',
      uses,
    ),
    flowRetrieval: readFlowRetrieval(retrieval),
    maxCharacters: input?.number('max_characters', whole) ?? 420,
    includeDateTime: section?.boolean('include_date_time') ?? true,
    timezone: section === undefined ? 'UTC' : readTimezone(section),
  };
  section
    ?.get('minimize_num_calls')
    ?.keyWarn('"minimize_num_calls" has no effect: no classifier goes before the model');
  section?.get('trace_prompt_tokens');
  finishAll(retrieval, input, section);
  return config;
}

function readFlowRetrieval(section: Section | undefined) {
  // Flows are found by their words, without embeddings.
  section?.get('embeddings');
  return {
    isActive: section?.boolean('active') ?? true,
    numFlows: section?.number('num_flows', whole) ?? 20,
    turnsToEmbed: section?.number('turns_to_embed', whole) ?? 1,
    shouldEmbedSlots: section?.boolean('should_embed_slots') ?? true,
  };
}

function finishAll(...sections: readonly (Section | undefined)[]): void {
  for (const section of sections) section?.finishLeniently();
}
