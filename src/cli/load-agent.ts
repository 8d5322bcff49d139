import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent } from '../agents/index.ts';
import { assistantAgent, buildAssistant } from '../assistant/index.ts';
import { formatProblem, suggest, present } from '../config/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { callBindings } from './call-bindings.ts';
import { offerOwnPackage } from './own-package.ts';
import { loadFrom } from './places.ts';
import { usage } from './usage.ts';

export interface LoadedAgent {
  readonly agent: Agent;
  /** The folder of its endpoints.yml. */
  readonly directory: string;
}

export interface LoadAgentOptions {
  readonly endpoints?: string;
  readonly logger: Logger;
}

/**
 * The agent of a module (`agent.ts`, or `agents.ts#bob` for one of several exports), of an
 * assistant's folder, or of a packed model with the endpoints of the current folder.
 */
export async function loadAgent(place: string, options: LoadAgentOptions): Promise<LoadedAgent> {
  const isThere = (path: string) => statSync(path, { throwIfNoEntry: false });
  const found = isThere(place);
  if (found?.isDirectory() === true) return loadAssistant(place, undefined, options);
  if (found !== undefined && /\.(?:tar\.gz|tgz)$/.test(place)) {
    return loadAssistant('.', place, options);
  }
  if (found !== undefined) return loadModule(place, undefined);
  const [file = '', exported] = place.split('#', 2);
  if (exported !== undefined && isThere(file)?.isFile() === true) return loadModule(file, exported);
  throw usage(
    `there is no agent at ${place}; name a module that exports one, the folder of an assistant, or a packed model`,
  );
}

async function loadAssistant(
  directory: string,
  model: string | undefined,
  { endpoints, logger }: LoadAgentOptions,
): Promise<LoadedAgent> {
  const { project, problems } = await loadFrom(directory, {
    ...present({ endpoints, model }),
  });
  problems.throwIfErrors();
  for (const problem of problems.nonFatal) {
    logger.warn({ problem: formatProblem(problem) }, 'project.warning');
  }
  const assistant = await buildAssistant(project, { logger, bindings: callBindings });
  const { a2aServer } = project.endpoints;
  return {
    directory,
    agent: assistantAgent({
      assistant: () => assistant,
      name: project.name,
      description: a2aServer?.description ?? project.name,
      includeConversationRepair: a2aServer?.includeConversationRepair ?? true,
    }),
  };
}

async function loadModule(file: string, wanted: string | undefined): Promise<LoadedAgent> {
  offerOwnPackage();
  const module = await importModule(file);
  const agents = new Map(
    Object.entries(module).filter((entry): entry is [string, Agent] => isAgent(entry[1])),
  );
  const directory = dirname(file);
  const names = [...agents.keys()];
  if (wanted !== undefined) {
    const named = agents.get(wanted);
    if (named !== undefined) return { agent: named, directory };
    throw usage(
      `${file} exports no agent "${wanted}"; ${suggest(wanted, names, `it exports ${names.join(', ') || 'none'}`)}`,
    );
  }
  const agent =
    agents.get('default') ?? agents.get('agent') ?? (agents.size === 1 ? first(agents) : undefined);
  if (agent !== undefined) return { agent, directory };
  throw usage(
    agents.size === 0
      ? `${file} exports no agent; export one: export const agent = agent({ name: ... }, ...)`
      : `${file} exports several agents; name one of them: ${names.map((name) => `${file}#${name}`).join(', ')}`,
  );
}

async function importModule(file: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as Record<string, unknown>;
  } catch (error) {
    // Other errors of a module are for its author: shows them with their stack trace.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    throw usage(
      `${file} is not a module; name one that exports an agent, such as agent.ts, or the folder of an assistant`,
      error,
    );
  }
}

function first(agents: ReadonlyMap<string, Agent>): Agent | undefined {
  return agents.values().next().value;
}

function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false;
  const { name, take } = value as Partial<Agent>;
  return typeof name === 'string' && typeof take === 'function';
}
