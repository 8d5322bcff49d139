import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { LegateError } from '../../protocol/index.ts';
import type { Project, SubAgent } from '../project/model.ts';
import type { SubAgentModule } from './model.ts';

const functions = [
  'processInput',
  'processOutput',
  'processAgentOutput',
  'processToolOutput',
  'run',
] as const satisfies readonly (keyof SubAgentModule)[];

/** The module of a sub agent: from the agent's folder, or from the project's. */
export async function loadModule(
  agent: SubAgent,
  { directory, subAgentsDirectory }: Pick<Project, 'directory' | 'subAgentsDirectory'>,
): Promise<SubAgentModule> {
  if (agent.module === undefined) return {};
  const path = pathOf(agent.module, [join(subAgentsDirectory, agent.folder), directory]);
  if (path === undefined) {
    throw invalid(agent, `there is no module ${agent.module}; write a path such as ./agent.ts`);
  }
  const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  const { tools } = module as { readonly tools?: unknown };
  const given = functions.filter((name) => module[name] !== undefined);
  const odd = given.find((name) => typeof module[name] !== 'function');
  if (odd !== undefined) throw invalid(agent, `its module exports ${odd}, which isn't a function`);
  if (tools !== undefined && !Array.isArray(tools)) {
    throw invalid(agent, "its module exports tools, which isn't an array");
  }
  if (given.length === 0 && tools === undefined) {
    throw invalid(agent, `its module exports none of ${functions.join(', ')}, tools`);
  }
  return module;
}

/** The format names modules with dots, we do with paths: `my.agent`, `./agent.ts`. */
function pathOf(named: string, folders: readonly string[]): string | undefined {
  const asPath = /[/\\]|\.[tj]s$/.test(named) ? named : named.replaceAll('.', '/');
  const endings = ['', '.ts', '/index.ts', '.js', '/index.js'];
  return folders
    .flatMap((folder) => endings.map((ending) => resolve(folder, `${asPath}${ending}`)))
    .find((path) => /\.[tj]s$/.test(path) && existsSync(path));
}

function invalid(agent: SubAgent, words: string): LegateError {
  return new LegateError('CONFIGURATION_INVALID', `sub agent ${agent.name}: ${words}`);
}
