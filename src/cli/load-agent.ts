import { statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Agent } from '../agents/index.ts';
import { assistantAgent, buildAssistant } from '../assistant/index.ts';
import { servedAt } from '../http/index.ts';
import { formatProblem, importModule, suggest, present } from '../config/index.ts';
import type { PeerNetwork } from '../peers/index.ts';
import { errorCode, invalidConfiguration } from '../protocol/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { moduleTarget } from './module-target.ts';
import { callBindings, loadFrom, projectFiles } from './project-files.ts';
import { usage } from './usage.ts';

export interface LoadedAgent {
  readonly agent: Agent;
  /** The folder of its endpoints.yml. */
  readonly directory: string;
  /** The default store below that folder, one per agent: several agents of a folder can run concurrently. */
  readonly storeFile: string;
  /** Files and folders whose changes need a restart, without endpoints.yml. */
  readonly files: readonly string[];
  /** Sets the peers for the `call:` steps of an assistant. Call it before the first turn. */
  readonly usePeers?: (network: PeerNetwork) => void;
}

export interface LoadAgentOptions {
  readonly endpoints?: string;
  readonly logger: Logger;
}

/**
 * Loads the agent of a module (`agent.ts`, or `agents.ts#bob` for one of several exports), of an
 * assistant's folder, or of a packed model with the endpoints of the current folder.
 */
export async function loadAgent(source: string, options: LoadAgentOptions): Promise<LoadedAgent> {
  const found = statSync(source, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return loadAssistant(source, undefined, options);
  if (found !== undefined && /\.(?:tar\.gz|tgz)$/.test(source)) {
    return loadAssistant('.', source, options);
  }
  const module = moduleTarget(source);
  if (module !== undefined) return loadModule(module.file, module.exported);
  throw usage(
    `there is no agent at ${source}; name a module that exports one, the folder of an assistant, or a packed model`,
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
  let network: PeerNetwork | undefined;
  const peers = (): PeerNetwork => {
    if (network !== undefined) return network;
    throw invalidConfiguration('this command does not call peers');
  };
  const assistant = await buildAssistant(project, { logger, bindings: callBindings, peers });
  const { a2aServer } = project.endpoints;
  return {
    directory,
    storeFile: join('.legate', 'store.db'),
    files: model === undefined ? projectFiles(project) : [model],
    usePeers: (opened) => {
      network = opened;
    },
    agent: assistantAgent({
      assistant: () => assistant,
      name: project.name,
      description: a2aServer?.description ?? project.name,
      includeConversationRepair: a2aServer?.includeConversationRepair ?? true,
      onInterrupted: a2aServer?.onInterrupted ?? 'fail',
    }),
  };
}

async function loadModule(file: string, wanted: string | undefined): Promise<LoadedAgent> {
  const module = await importAgents(file);
  const agents = new Map(
    Object.entries(module).filter((entry): entry is [string, Agent] => isAgent(entry[1])),
  );
  const rest = { directory: dirname(file), files: [file] };
  const names = [...agents.keys()];
  if (wanted !== undefined) {
    const named = agents.get(wanted);
    if (named !== undefined) refuseServed(file, named, wanted);
    if (named !== undefined) return { ...rest, agent: named, storeFile: storeFileOf(named) };
    throw usage(
      `${file} exports no agent "${wanted}"; ${suggest(wanted, names, `it exports ${names.join(', ') || 'none'}`)}`,
    );
  }
  const agent =
    agents.get('default') ??
    agents.get('agent') ??
    (agents.size === 1 ? [...agents.values()][0] : undefined);
  if (agent !== undefined) {
    const [name = ''] = names.filter((each) => agents.get(each) === agent);
    refuseServed(file, agent, name);
    return { ...rest, agent, storeFile: storeFileOf(agent) };
  }
  const served = agents.size === 0 ? servedAt() : undefined;
  if (served !== undefined) throw servesItself(file, served, 'export its agent');
  throw usage(
    agents.size === 0
      ? `${file} exports no agent; export one: export const agent = agent({ name: ... }, ...)`
      : `${file} exports several agents; name one of them: ${names.map((name) => `${file}#${name}`).join(', ')}`,
  );
}

/** Refuses a module that serves its agent itself: it would use the port or the store of the command. */
function refuseServed(file: string, agent: Agent, name: string): void {
  const url = servedAt(agent);
  if (url !== undefined) throw servesItself(file, url, `keep the export ${name}`);
}

function servesItself(file: string, url: string, first: string): Error {
  return usage(
    `${file} serves its agent itself, at ${url}: this command has nothing left to serve. To use the command, ${first} (export const myAgent = agent(...)) and remove the call of serve(...). To keep the program as it is, run: node --watch ${file}`,
  );
}

function storeFileOf({ name }: Agent): string {
  return join('.legate', `${basename(name)}.db`);
}

async function importAgents(file: string): Promise<Record<string, unknown>> {
  try {
    return await importModule(file);
  } catch (error) {
    // Other errors are shown to the author of the module with their stack trace.
    if (errorCode(error) !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    throw usage(
      `${file} is not a module; name one that exports an agent, such as agent.ts, or the folder of an assistant`,
      error,
    );
  }
}

function isAgent(value: unknown): value is Agent {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'name' in value &&
    typeof value.name === 'string' &&
    'take' in value &&
    typeof value.take === 'function'
  );
}
