import { statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Agent } from '../agents/index.ts';
import { assistantAgent, buildAssistant } from '../assistant/index.ts';
import { formatProblem, suggest, present } from '../config/index.ts';
import type { Logger } from '../telemetry/index.ts';
import { callBindings, loadFrom } from './project-files.ts';
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
export async function loadAgent(source: string, options: LoadAgentOptions): Promise<LoadedAgent> {
  const statOf = (path: string) => statSync(path, { throwIfNoEntry: false });
  const found = statOf(source);
  if (found?.isDirectory() === true) return loadAssistant(source, undefined, options);
  if (found !== undefined && /\.(?:tar\.gz|tgz)$/.test(source)) {
    return loadAssistant('.', source, options);
  }
  if (found !== undefined) return loadModule(source, undefined);
  const [file = '', exported] = source.split('#', 2);
  if (exported !== undefined && statOf(file)?.isFile() === true) return loadModule(file, exported);
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
    agents.get('default') ??
    agents.get('agent') ??
    (agents.size === 1 ? [...agents.values()][0] : undefined);
  if (agent !== undefined) return { agent, directory };
  throw usage(
    agents.size === 0
      ? `${file} exports no agent; export one: export const agent = agent({ name: ... }, ...)`
      : `${file} exports several agents; name one of them: ${names.map((name) => `${file}#${name}`).join(', ')}`,
  );
}

async function importModule(file: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    // Other errors of a module are for its author: shows them with their stack trace.
    if (!hasCode(error, 'ERR_UNKNOWN_FILE_EXTENSION')) throw error;
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

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

const extension = extname(import.meta.url);
let isRegistered = false;

/**
 * Lets modules loaded from now on import `legate` when they have no installed package: a new agent
 * runs before anything is installed, with the package of the command.
 */
function offerOwnPackage(): void {
  if (isRegistered) return;
  isRegistered = true;
  registerHooks({
    resolve(specifier, context, next) {
      const own = ownModule(specifier);
      if (own === undefined) return next(specifier, context);
      try {
        return next(specifier, context);
      } catch (error) {
        if (!hasCode(error, 'ERR_MODULE_NOT_FOUND')) throw error;
        return { url: own, shortCircuit: true };
      }
    },
  });
}

function ownModule(specifier: string): string | undefined {
  const [, entry] = /^legate(?:\/([a-z]+))?$/.exec(specifier) ?? [];
  if (entry === undefined && specifier !== 'legate') return undefined;
  const path = entry === undefined ? `../index${extension}` : `../${entry}/index${extension}`;
  return new URL(path, import.meta.url).href;
}
