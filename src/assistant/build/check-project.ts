import { join } from 'node:path';
import type { Environment, Place } from '../../config/index.ts';
import { createModel } from '../../models/index.ts';
import { LegateError } from '../../protocol/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import type { LoadedProject, Project } from '../project/load-project.ts';
import type { SubAgent } from '../project/sub-agents.ts';
import { loadModule, pythonModule } from '../sub-agents/create-handlers.ts';
import { checkActions } from './actions.ts';
import { usedModelGroups } from './build-assistant.ts';

/**
 * Adds what `buildAssistant` would trip over to the problems of a project: modules that do not exist or
 * export nothing, as errors; and as warnings what this machine lacks, such as keys of models or
 * rasa_sdk. Connects to nothing.
 * @example
 * const loaded = await loadProject({ directory: '.' }, process.env);
 * await checkProject(loaded, process.env);
 * loaded.problems.throwIfErrors();
 */
export async function checkProject(loaded: LoadedProject, environment: Environment): Promise<void> {
  await checkActions(loaded, environment);
  checkModels(loaded, environment);
  for (const agent of loaded.project.subAgents.values()) await checkModule(loaded, agent);
}

function checkModels({ project, problems }: LoadedProject, environment: Environment): void {
  const { config, endpoints, directory } = project;
  const { modelGroups, nlg } = endpoints;
  const place = inFile(join(directory, 'endpoints.yml'), 'model_groups');
  for (const id of usedModelGroups(project)) {
    const group = modelGroups.get(id);
    if (group === undefined) continue;
    try {
      createModel(group, { environment, logger: silentLogger });
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

async function checkModule({ project, problems }: LoadedProject, agent: SubAgent): Promise<void> {
  const place = inFile(
    join(project.subAgentsDirectory, agent.folder, 'config.yml'),
    'configuration.module',
  );
  const python = pythonModule(agent, project);
  if (python !== undefined) {
    const message = `the Python class ${agent.module} is left out: the agent runs without its hooks`;
    problems.warn(place, message, { hint: python.hint });
    return;
  }
  try {
    await loadModule(agent, project);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    problems.error(place, error instanceof LegateError ? reason : `cannot be loaded: ${reason}`);
  }
}

function inFile(file: string, path: string): Place {
  return { position: { file, line: 1, column: 1 }, path };
}

/** What the flows and sub agents of a project ask of an MCP server. */
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
