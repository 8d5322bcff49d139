import { z } from 'zod';
import { findModule } from '../project/project-folder.ts';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { importModule, suggest } from '../../config/index.ts';
import { errorMessage, invalidConfiguration, LegateError } from '../../protocol/index.ts';
import type { UrlPolicy } from '../../push/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { sleep as pause } from '../../time/index.ts';
import type { CallHandler } from '../executor/call-handler.ts';
import type { Project } from '../project/load-project.ts';
import type { SubAgent } from '../project/sub-agents.ts';
import { AgentHandler } from './agent-handler.ts';
import type { ExternalParts } from './external-agent.ts';
import { isPassing } from './external-output.ts';
import { McpPool, toolHandler } from './mcp.ts';
import type { SubAgentModule, SubAgentTool } from './model.ts';
import type { Sleep } from './outcome.ts';

export interface SubAgentOptions {
  readonly models: ReadonlyMap<string, LanguageModelV4>;
  readonly logger: Logger;
  /** @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Bindings for calls to agents, in addition to the two over HTTP. @default [] */
  readonly bindings?: ExternalParts['bindings'];
  /** URLs that agents and MCP servers with TLS files can have. @default any */
  readonly policy?: UrlPolicy | undefined;
  /** Waits between two attempts. @default a timer */
  readonly sleep?: Sleep | undefined;
}

/**
 * Creates the handlers of `call:` steps for sub agents and tools. Agents are checked according to
 * `startup_check`: throws when a required agent is unavailable.
 */
export async function createHandlers(
  project: Project,
  options: SubAgentOptions,
): Promise<readonly CallHandler[]> {
  const { subAgents, endpoints, files, directory, modelId } = project;
  const { logger, fetch, bindings, policy, sleep = pause } = options;
  if (subAgents.size === 0 && endpoints.mcpServers.size === 0) return [];
  const pool = new McpPool(endpoints.mcpServers, { directory, logger, fetch, policy });
  const leaving = new AbortController();
  const checks: Promise<void>[] = [];
  // This handler closes the resources that all handlers share.
  const handlers: CallHandler[] = [
    {
      ...toolHandler(pool),
      close: async () => {
        leaving.abort();
        await pool.close();
        await Promise.allSettled(checks);
      },
    },
  ];
  try {
    checks.push(warnOfTools(project, pool, logger, leaving.signal));
    for (const agent of subAgents.values()) {
      const python = pythonModule(agent, project);
      if (python !== undefined) {
        logger.warn({ agent: agent.name, hint: python.hint }, 'sub_agent.python_module_left_out');
      }
      const module = python === undefined ? await loadModule(agent, project) : {};
      const model = needsModel(agent, module) ? modelOf(agent, project, options) : undefined;
      const handler = new AgentHandler({
        agent,
        module,
        model,
        pool,
        files,
        modelId,
        sleep,
        fetch,
        bindings,
        policy,
        directory,
        logger,
      });
      handlers.push(handler);
      const { startupCheck } = agent;
      if (startupCheck === 'fail') await mustAnswer(agent, handler);
      else if (startupCheck === undefined) await mustAnswer(agent, handler, logger);
      else if (startupCheck === 'warn')
        checks.push(warnUnless(agent, handler, logger, leaving.signal));
    }
  } catch (error) {
    await closeHandlers(handlers);
    throw error;
  }
  return handlers;
}

async function closeHandlers(handlers: readonly CallHandler[]): Promise<void> {
  await Promise.allSettled(handlers.map(async (handler) => handler.close?.()));
}

export type ReactAgent = Extract<SubAgent, { protocol: 'RASA' }>;

/** Whether a language model runs the agent. A module with `run` replaces the model. */
export function needsModel(agent: SubAgent, module: SubAgentModule): agent is ReactAgent {
  return agent.protocol === 'RASA' && module.run === undefined;
}

/**
 * The model of a ReAct agent: that of its group, that of the command generator's group, or the only
 * model.
 */
function modelOf(
  agent: ReactAgent,
  { config, endpoints }: Project,
  { models, logger }: SubAgentOptions,
): LanguageModelV4 | undefined {
  const { modelGroup = config.generator?.modelGroup } = agent;
  const only = models.size === 1 ? [...models.values()][0] : undefined;
  const model = modelGroup === undefined ? only : models.get(modelGroup);
  // Unsupported groups have their own warning.
  if (model === undefined && endpoints.unsupportedModelGroups.size === 0) {
    const hint = 'name one of the model_groups of endpoints.yml in configuration.llm.model_group';
    logger.warn({ agent: agent.name, hint }, 'sub_agent.no_model');
  }
  return model;
}

/** Throws if the agent is unavailable. With a logger, retryable errors are only a warning. */
async function mustAnswer(agent: SubAgent, handler: AgentHandler, logger?: Logger): Promise<void> {
  try {
    await handler.check();
  } catch (error) {
    if (logger !== undefined && isPassing(error)) {
      logger.warn({ agent: agent.name, error }, 'sub_agent.startup_check_failed');
      return;
    }
    throw new LegateError(
      'UNAVAILABLE',
      `sub agent ${agent.name} does not answer: ${errorMessage(error)}; start it, or set configuration.startup_check to warn or lazy`,
      { cause: error },
    );
  }
}

/** Warns about tools that flows call and their servers don't have. Doesn't delay startup. */
async function warnOfTools(
  { flows }: Project,
  pool: McpPool,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const steps = [...flows.values()].flatMap((flow) => [...flow.steps.values()]);
  const calls = steps.filter((step) => step.kind === 'call');
  for (const server of new Set(calls.map((step) => step.mcpServer))) {
    if (server === undefined || !pool.has(server)) continue;
    try {
      const names = (await pool.connection(server).tools({ signal })).map(({ name }) => name);
      for (const { target, mcpServer } of calls) {
        if (mcpServer !== server || names.includes(target)) continue;
        const hint = suggest(target, names, `it has ${names.join(', ')}`);
        logger.warn({ server, tool: target, hint }, 'mcp_tool.unknown');
      }
    } catch (error) {
      if (!signal.aborted) logger.warn({ server, error }, 'mcp_server.startup_check_failed');
    }
  }
}

/** Warns if the agent is unavailable. Doesn't delay startup. */
async function warnUnless(
  agent: SubAgent,
  handler: AgentHandler,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  try {
    await handler.check(signal);
  } catch (error) {
    if (!signal.aborted)
      logger.warn({ agent: agent.name, error }, 'sub_agent.startup_check_failed');
  }
}

/** A function that a module can export. Only the module's author can ensure its type. */
const hook = <T>() =>
  z.custom<T>((value) => typeof value === 'function', "isn't a function").exactOptional();

function isTool(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'parse' in value && 'run' in value;
}

const moduleSchema = z.object({
  processInput: hook<NonNullable<SubAgentModule['processInput']>>(),
  processOutput: hook<NonNullable<SubAgentModule['processOutput']>>(),
  processAgentOutput: hook<NonNullable<SubAgentModule['processAgentOutput']>>(),
  processToolOutput: hook<NonNullable<SubAgentModule['processToolOutput']>>(),
  tools: z
    .array(z.custom<SubAgentTool>(isTool, "isn't made by subAgentTool"), "isn't an array")
    .exactOptional(),
  run: hook<NonNullable<SubAgentModule['run']>>(),
});

/** Hooks of Python classes, and their names in TypeScript. */
const pythonHooks: Readonly<Record<string, keyof SubAgentModule>> = {
  process_input: 'processInput',
  process_output: 'processOutput',
  process_agent_output: 'processAgentOutput',
  process_tool_output: 'processToolOutput',
  get_custom_tool_definitions: 'tools',
  run: 'run',
};

/**
 * Detects a Python class named as the module of a sub agent. Returns a hint what to write instead;
 * undefined if the module is TypeScript, or missing.
 */
export function pythonModule(
  agent: SubAgent,
  { directory, subAgentsDirectory }: Pick<Project, 'directory' | 'subAgentsDirectory'>,
): { readonly hint: string } | undefined {
  if (agent.module === undefined) return undefined;
  const folders = [join(subAgentsDirectory, agent.folder), directory];
  if (findModule(agent.module, folders) !== undefined) return undefined;
  const path = agent.module.replace(/\.py$/, '').replaceAll('.', '/');
  // `package.module.Class`, or the module alone.
  const file = [dirname(path), path]
    .flatMap((one) => folders.map((folder) => join(folder, `${one}.py`)))
    .find((one) => existsSync(one));
  if (file === undefined) return undefined;
  const methods = readFileSync(file, 'utf8').matchAll(/\bdef\s+(\w+)\s*\(/g);
  const named = new Set(Array.from(methods, ([, name]) => name));
  const defined = Object.entries(pythonHooks).filter(([name]) => named.has(name));
  const hooks = defined.map(([, name]) => name).join(', ') || 'its hooks';
  const target = join(subAgentsDirectory, agent.folder, 'agent.ts');
  return { hint: `write ${hooks} in ${target}, and name it with module: ./agent.ts` };
}

/** The module of a sub agent: from the agent's folder, or from the project's. */
export async function loadModule(
  agent: SubAgent,
  { directory, subAgentsDirectory }: Pick<Project, 'directory' | 'subAgentsDirectory'>,
): Promise<SubAgentModule> {
  if (agent.module === undefined) return {};
  const path = findModule(agent.module, [join(subAgentsDirectory, agent.folder), directory]);
  if (path === undefined) {
    throw invalid(agent, `there is no module ${agent.module}; write a path such as ./agent.ts`);
  }
  const { data: module, error } = moduleSchema.safeParse({
    ...(await importModule(path)),
  });
  const [issue] = error?.issues ?? [];
  if (module === undefined) {
    throw invalid(agent, `its module exports ${issue?.path.join('.')}, which ${issue?.message}`);
  }
  if (Object.keys(module).length > 0) return module;
  const known = Object.keys(moduleSchema.shape).join(', ');
  throw invalid(agent, `its module exports none of ${known}`);
}

function invalid(agent: SubAgent, words: string): LegateError {
  return invalidConfiguration(`sub agent ${agent.name}: ${words}`);
}
