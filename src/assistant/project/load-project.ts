import {
  endpointSections,
  type Environment,
  Field,
  type OnUnset,
  present,
  Problems,
  type Source,
  suggest,
  TextError,
  YamlFile,
} from '../../config/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import type { TextDocument } from '../../search/index.ts';
import { loadDomain } from '../domain/domain.ts';
import type { Use } from '../domain/uses.ts';
import { loadFlows } from '../flows/flow.ts';
import type { Domain, Flow } from '../model.ts';
import { defaultFlows, defaultResponses } from '../patterns/defaults.ts';
import { sampleScope } from '../templates/sample-scope.ts';
import { compileTemplate } from '../templates/template.ts';
import { readConfig } from './config-file.ts';
import { type Endpoints, readEndpoints } from './endpoints.ts';
import { isSupported } from '../../models/index.ts';
import { withoutModelGroups } from './left-out-models.ts';
import { withUndeclared } from './undeclared.ts';
import { fingerprint, type PackedText, toEntries } from './package-entries.ts';
import { type ProjectParts, type ProjectPlaces, readFolder } from './project-folder.ts';
import type { SearchConfig } from './search-policy.ts';
import { type LoadedSubAgent, readSubAgent, type SubAgent } from './sub-agents.ts';
import { validate } from './validate.ts';

/**
 * A project with its errors and warnings.
 * @example
 * const wholeOf = ({ project, problems }: LoadedProject) => {
 *   problems.throwIfErrors();
 *   return project;
 * };
 */
export interface LoadedProject {
  /** The valid parts of the project; complete if there are no errors. */
  readonly project: Project;
  readonly problems: Problems;
  /** The files that `packProject` packs. */
  readonly entries: readonly PackedText[];
}

/**
 * Reads and validates a project folder. Collects errors in `problems` instead of throwing them; call
 * `problems.throwIfErrors()`.
 * @example
 * const { project, problems } = await loadProject({ directory: '.' }, process.env);
 * problems.throwIfErrors();
 */
export async function loadProject(
  places: ProjectPlaces,
  environment: Environment,
): Promise<LoadedProject> {
  const problems = new Problems();
  const parts = await readFolder(places, problems);
  const project = await assemble(parts, environment, problems);
  const entries = toEntries(parts, project.files, project.documents);
  return { project: { ...project, modelId: fingerprint(entries) }, problems, entries };
}

/** Builds a project from its parts and reports all of its errors and warnings. */
export async function assemble(
  parts: ProjectParts,
  environment: Environment,
  problems: Problems,
): Promise<Omit<Project, 'modelId'>> {
  const uses: Use[] = [];
  // A missing file counts as an empty one.
  const parse = (source: Source = { file: '', text: '' }, onUnset?: OnUnset) =>
    YamlFile.parse(source, problems, { environment, ...present({ onUnset }) });
  const isProduction = environment['NODE_ENV'] === 'production';
  const shared = problems.tolerant({ isFatal: isProduction });
  const unsetInConfig: Parameters<OnUnset>[] = [];
  const config = readConfig(
    parse(parts.config, (...one) => unsetInConfig.push(one)),
    { problems: shared, uses, unset: unsetInConfig, isProduction },
  );
  const loadedDomain = loadDomain(parts.domain, problems, { defaults: [defaultResponses] });
  const loadedFlows = loadFlows(parts.data, problems, { defaults: [defaultFlows] });
  const {
    agents,
    leftOut,
    isComplete: hasAllAgents,
  } = readSubAgents(parts, {
    environment,
    problems: shared,
    uses,
    isProduction,
  });
  const unset: Parameters<OnUnset>[] = [];
  const endpointsFile = parse(parts.endpoints, (...one) => unset.push(one));
  reportUnset(unset, Field.root(endpointsFile, problems), { uses, isProduction });
  const endpoints = readEndpoints(endpointsFile, { problems, shared }, uses);
  uses.push(...loadedDomain.uses, ...loadedFlows.uses);
  const modelGroups = new Map(endpoints.modelGroups);
  const unsupported = new Set(endpoints.unsupportedModelGroups);
  const missing = new Set<string>();
  for (const use of uses) {
    if (use.kind !== 'model_group') continue;
    if (use.inline !== undefined) {
      if (isSupported(use.inline)) modelGroups.set(use.name, use.inline);
      else unsupported.add(use.name);
    }
    if (unsupported.has(use.name)) {
      const hint = 'name a server that offers chat completions with api_base';
      use.field.warn(`unsupported provider: ${use.instead}`, hint);
    } else if (!modelGroups.has(use.name) && !endpointsFile.isBroken) {
      const near = suggest(use.name, modelGroups.keys());
      const message = `no model group named "${use.name}"`;
      const hint = 'describe it under model_groups in endpoints.yml';
      if (isProduction || near !== undefined) use.field.error(message, near ?? hint);
      else use.field.warn(`${message}: ${use.instead}`, hint);
      missing.add(use.name);
    }
  }
  validate({
    domain: loadedDomain.domain,
    flows: loadedFlows.flows,
    fields: loadedFlows.fields,
    patterns: loadedFlows.defaults,
    uses,
    agents: new Map([...agents, ...leftOut].map(([name, { field }]) => [name, field])),
    mcpServers: new Set(endpoints.mcpServers.keys()),
    peers: new Set(endpoints.peers?.wellKnown.map(({ name }) => name)),
    isComplete:
      loadedDomain.isComplete && loadedFlows.isComplete && !endpointsFile.isBroken && hasAllAgents,
    problems: problems.tolerant(),
  });
  if (endpoints.a2aServer !== undefined && loadedDomain.domain.session.startSessionAfterExpiry) {
    const { sessionField } = loadedDomain;
    problems.error(
      sessionField?.keyPlace ?? endpointsFile.keyPlace(['a2a_server']),
      'a2a_server requires start_session_after_expiry: false',
      {
        hint: 'set it under session_config in the domain',
        code: 'validation.a2a_server.incompatible_session_config',
      },
    );
  }
  const project: Omit<Project, 'modelId'> = {
    name: config.assistantId ?? parts.name,
    directory: parts.directory,
    config,
    domain: withUndeclared(loadedDomain.domain, uses),
    flows: loadedFlows.flows,
    endpoints: { ...endpoints, modelGroups },
    credentials: readCredentials(
      parse(parts.credentials, ([key], report) => {
        if (channels.has(String(key))) report('error');
      }),
      problems,
    ),
    subAgents: new Map([...agents].map(([name, { agent }]) => [name, agent])),
    subAgentsDirectory: parts.subAgentsDirectory,
    files: await readFiles(parts, uses, problems),
    documents:
      config.search === undefined || endpoints.search !== undefined
        ? []
        : await documentsOf(parts, config.search, problems),
  };
  return withoutModelGroups(project, new Set([...unsupported, ...missing]));
}

/** Sections of services that the assistant calls, and without which it can run. */
const calledServices = new Set(['action_endpoint', 'mcp_servers']);

/**
 * Reports variables that are not set. They are errors, except in sections that Legate ignores. In sections of
 * services that the assistant calls, and in used model groups, they are errors in production only.
 */
function reportUnset(
  unset: readonly Parameters<OnUnset>[],
  endpoints: Field,
  { uses, isProduction }: { readonly uses: readonly Use[]; readonly isProduction: boolean },
): void {
  const [nlg = endpoints.at('nlg')] = endpoints.at('nlg').oneOrMore();
  const groups = endpoints.at('model_groups');
  const used = new Set([
    ...uses.map((use) => (use.kind === 'model_group' ? use.name : undefined)),
    nlg.at('llm').at('model_group').value,
    nlg.at('model_group').value,
  ]);
  for (const [[key, index = 0, ...rest], report] of unset) {
    // A component that names no group uses the only one.
    const isUsed = groups.at(1).value === null || used.has(groups.at(index).at('id').value);
    if (key === 'model_groups') report(isUsed && isProduction ? 'error' : 'warning');
    else if (key === 'nlg') report(nlgSeverity([index, ...rest], isProduction));
    else if (calledServices.has(String(key))) report(isProduction ? 'error' : 'warning');
    else if (endpointSections.has(String(key))) report('error');
  }
}

/** Only the first entry of a list is used. Without its server or model, responses are sent as written. */
function nlgSeverity([entry]: readonly (string | number)[], isProduction: boolean) {
  if (typeof entry === 'number' && entry > 0) return 'warning';
  return isProduction ? 'error' : 'warning';
}

async function documentsOf(
  parts: ProjectParts,
  { source, place }: SearchConfig,
  problems: Problems,
): Promise<readonly TextDocument[]> {
  const documents = await parts.documents(source, problems);
  if (documents.length === 0) {
    problems.warn(place, `there are no documents to search in ${source}`, {
      hint: 'name their folder: "vector_store: {source: ./docs}"',
    });
  }
  return documents;
}

interface SubAgentReading {
  readonly environment: Environment;
  readonly problems: Problems;
  readonly uses: Use[];
  readonly isProduction: boolean;
}

/**
 * Reads the sub agents. A sub agent with an error or an unset variable is left out: calls of it fail. In
 * production both are errors.
 */
function readSubAgents(
  parts: ProjectParts,
  { environment, problems, uses, isProduction }: SubAgentReading,
): {
  readonly agents: ReadonlyMap<string, LoadedSubAgent>;
  readonly leftOut: ReadonlyMap<string, LoadedSubAgent>;
  readonly isComplete: boolean;
} {
  const agents = new Map<string, LoadedSubAgent>();
  const leftOut = new Map<string, LoadedSubAgent>();
  let isComplete = true;
  for (const part of parts.subAgents) {
    const before = problems.errors.length;
    let isUnset = false;
    const onUnset: OnUnset = ([key, inner], report) => {
      // Without its model, the agent is not left out, but its calls fail.
      if (key !== 'configuration' || inner !== 'llm') isUnset = true;
      report(isProduction ? 'error' : 'warning');
    };
    const file = YamlFile.parse(part, problems, { environment, onUnset });
    if (file.isBroken) isComplete = false;
    const read = readSubAgent(part.name, file, problems, uses);
    if (read === undefined) continue;
    const { name } = read.agent;
    const first = agents.get(name) ?? leftOut.get(name);
    if (first !== undefined) {
      const { file: where } = first.field.place.position;
      read.field.error(`a sub agent named "${name}" is already defined in ${where}`, 'rename one');
    } else if (isUnset || problems.errors.length > before) {
      leftOut.set(name, read);
      const hint = isUnset ? 'set its variables' : 'fix its errors';
      read.field.warn(`sub agent "${name}" is left out: calls of it fail`, hint);
    } else agents.set(name, read);
  }
  return { agents, leftOut, isComplete };
}

/** Reads the files that the project refers to: first in the folder of the sub agent, then in the project. */
async function readFiles(
  parts: ProjectParts,
  uses: readonly Use[],
  problems: Problems,
): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const use of uses) {
    if (use.kind !== 'file') continue;
    const { key, path, field } = use;
    const text = (await parts.file(key, problems)) ?? (await parts.file(path, problems));
    if (text === undefined) {
      field.error('there is no such file in the project', 'write the path from the project folder');
      continue;
    }
    files.set(key, text);
    check(use, text);
  }
  return files;
}

function check({ as, field, path }: Extract<Use, { kind: 'file' }>, text: string): void {
  try {
    if (as === 'template') compileTemplate(text).render(sampleScope);
    else JSON.parse(text);
  } catch (error) {
    if (error instanceof TextError) field.error(`${path}: ${error.message}`);
    else if (error instanceof SyntaxError) field.error(`${path} is not JSON`);
    else throw error;
  }
}

const channels = new Set(['rest', 'inspector']);

/** Reads the channels of credentials.yml by name. One warning names all unknown channels. */
function readCredentials(file: YamlFile, problems: Problems): ReadonlyMap<string, JsonObject> {
  const result = new Map<string, JsonObject>();
  const entries = Field.document(file, problems).entries();
  const missing = entries.filter(([name]) => !channels.has(name));
  for (const [name, field] of entries) {
    if (!channels.has(name)) continue;
    const value = field.value === null ? {} : field.object();
    if (value !== undefined) result.set(name, value);
  }
  if (missing.length > 0) {
    const names = missing.map(([name]) => name).join(', ');
    missing[0]?.[1].keyWarn(`left out, there is no such channel here: ${names}`);
  }
  return result;
}

/**
 * A loaded project folder or package. It contains secrets: never log it.
 * @example const label = ({ name, modelId }: Project) => `${name}@${modelId.slice(0, 12)}`;
 */
export interface Project {
  /** `assistant_id`, or the name of the folder. */
  readonly name: string;
  /** The folder of modules: code is not part of a package. */
  readonly directory: string;
  /** SHA-256 of the content, in hex. Equal content has the same id on every machine. */
  readonly modelId: string;
  readonly config: ReturnType<typeof readConfig>;
  readonly domain: Domain;
  /** By id, including default patterns. */
  readonly flows: ReadonlyMap<string, Flow>;
  readonly endpoints: Endpoints;
  /** Channels of credentials.yml by name. */
  readonly credentials: ReadonlyMap<string, JsonObject>;
  /** By name. */
  readonly subAgents: ReadonlyMap<string, SubAgent>;
  /** The parent of the sub agents' folders, which contain their modules. */
  readonly subAgentsDirectory: string;
  /** Files that the project refers to: prompts and agent cards. */
  readonly files: ReadonlyMap<string, string>;
  /** The texts that `EnterpriseSearchPolicy` searches. */
  readonly documents: readonly TextDocument[];
}
