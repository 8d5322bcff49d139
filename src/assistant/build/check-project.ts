import { join } from 'node:path';
import type { Environment, Place } from '../../config/index.ts';
import { createModel } from '../../models/index.ts';
import { errorMessage, LegateError } from '../../protocol/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import type { LoadedProject, Project } from '../project/load-project.ts';
import type { SubAgent } from '../project/sub-agents.ts';
import {
  loadModule,
  needsModel,
  pythonModule,
  type ReactAgent,
} from '../sub-agents/create-handlers.ts';
import type { SubAgentModule } from '../sub-agents/model.ts';
import { checkActions } from './actions.ts';
import { usedModelGroups } from './build-assistant.ts';

/**
 * Adds problems that would make `buildAssistant` fail. Modules that don't exist or export nothing are
 * errors. What is missing on this machine, such as model keys or rasa_sdk, is a warning. Calls no service of
 * the project.
 * @example
 * const loaded = await loadProject({ directory: '.' }, process.env);
 * await checkProject(loaded, process.env);
 * loaded.problems.throwIfErrors();
 */
export async function checkProject(loaded: LoadedProject, environment: Environment): Promise<void> {
  await checkActions(loaded, environment);
  checkModels(loaded, environment);
  for (const agent of loaded.project.subAgents.values()) {
    const module = await checkModule(loaded, agent);
    if (module !== undefined && needsModel(agent, module)) checkModelOf(agent, loaded);
  }
}

function checkModels({ project, problems }: LoadedProject, environment: Environment): void {
  const { config, endpoints, directory } = project;
  const { modelGroups, nlg } = endpoints;
  const place = inFile(join(directory, 'endpoints.yml'), 'model_groups');
  for (const id of usedModelGroups(project)) {
    const group = modelGroups.get(id);
    if (group === undefined) continue;
    try {
      createModel(group, { environment, logger: silentLogger, directory });
    } catch (error) {
      if (!(error instanceof LegateError)) throw error;
      problems.warn(place, error.message);
    }
  }
  const { generator } = config;
  if (generator !== undefined && generator.modelGroup === undefined && modelGroups.size !== 1) {
    problems.warn(
      inFile(join(directory, 'config.yml'), 'pipeline'),
      `${generator.component} names no model: MatchingCommandGenerator reads messages instead`,
      { hint: 'name one of model_groups in llm.model_group' },
    );
  }
  if (nlg?.type === 'rephrase' && nlg.modelGroup === undefined && modelGroups.size === 0) {
    problems.warn(
      inFile(join(directory, 'endpoints.yml'), 'nlg'),
      'it names no model: responses are sent as written',
      { hint: 'name one of model_groups in nlg.llm.model_group' },
    );
  }
}

function checkModelOf(agent: ReactAgent, { project, problems }: LoadedProject): void {
  const { config, endpoints, subAgentsDirectory } = project;
  if (endpoints.modelGroups.size === 1) return;
  if ((agent.modelGroup ?? config.generator?.modelGroup) !== undefined) return;
  problems.warn(
    inFile(join(subAgentsDirectory, agent.folder, 'config.yml'), 'configuration.llm'),
    `sub agent ${agent.name} names no model: calls of it fail`,
    { hint: 'name one of model_groups in configuration.llm.model_group' },
  );
}

/** The module of a sub agent; undefined if it can't be loaded. */
async function checkModule(
  { project, problems }: LoadedProject,
  agent: SubAgent,
): Promise<SubAgentModule | undefined> {
  const place = inFile(
    join(project.subAgentsDirectory, agent.folder, 'config.yml'),
    'configuration.module',
  );
  const python = pythonModule(agent, project);
  if (python !== undefined) {
    const message = `the Python class ${agent.module} is left out: the agent runs without its hooks`;
    problems.warn(place, message, { hint: python.hint });
    return {};
  }
  try {
    return await loadModule(agent, project);
  } catch (error) {
    const reason = errorMessage(error);
    problems.error(place, error instanceof LegateError ? reason : `cannot be loaded: ${reason}`);
    return undefined;
  }
}

function inFile(file: string, path: string): Place {
  return { position: { file, line: 1, column: 1 }, path };
}

/** The tools of an MCP server that the flows and sub agents of a project name. */
export function toolsUsed({ flows, subAgents }: Project, server: string): readonly string[] {
  const steps = [...flows.values()].flatMap((flow) => [...flow.steps.values()]);
  const called = steps.flatMap((step) =>
    step.kind === 'call' && step.mcpServer === server ? [step.target] : [],
  );
  const listed = [...subAgents.values()].flatMap((agent) =>
    agent.protocol === 'RASA'
      ? agent.mcpServers
          .filter(({ name }) => name === server)
          .flatMap((one) => one.includeTools ?? [])
      : [],
  );
  return [...new Set([...called, ...listed])];
}
