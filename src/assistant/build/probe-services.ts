import { type Environment, present, suggest } from '../../config/index.ts';
import type { ClientTls } from '../../net/index.ts';
import { guardedFetch } from '../../push/index.ts';
import { type Logger, silentLogger } from '../../telemetry/index.ts';
import { within } from '../../time/index.ts';
import { actionsAt, ActionServer, isHealthy } from '../actions/action-server.ts';
import type { Project } from '../project/load-project.ts';
import type { ExternalAgent } from '../project/sub-agents.ts';
import { ExternalCaller } from '../sub-agents/external-agent.ts';
import { McpPool } from '../sub-agents/mcp.ts';
import {
  actionFetch,
  customActions,
  needsStandIn,
  pythonActionsOf,
  startPython,
} from './actions.ts';
import { type BuildOptions, outboundPolicy } from './build-assistant.ts';
import { toolsUsed } from './check-project.ts';

/**
 * The result of probing one service of a project.
 * @example for await (const { what, problem } of probeServices(project)) console.log(what, problem ?? 'fine');
 */
export interface Probe {
  /** @example 'MCP server hotels' */
  readonly what: string;
  /** What the probe found. */
  readonly found: string;
  /** Why the service is not fully usable; undefined if it is. */
  readonly problem?: string;
  /** How to fix it. */
  readonly fix?: string;
}

/**
 * Options of probes.
 * @example const options: ProbeOptions = { environment: process.env };
 */
export interface ProbeOptions extends Pick<BuildOptions, 'bindings'> {
  /** @default process.env */
  readonly environment?: Environment;
  /** Milliseconds for each. @default 10_000 */
  readonly timeoutMs?: number;
}

/**
 * Probes the services that a project's assistant calls: its action server (a Python action server is
 * started), its MCP servers with the tools that flows name, and its remote sub agents.
 * @example
 * const probes = await Array.fromAsync(probeServices(project, { timeoutMs: 2_000 }));
 * const isReady = probes.every(({ problem }) => problem === undefined);
 */
export async function* probeServices(
  project: Project,
  options: ProbeOptions = {},
): AsyncGenerator<Probe> {
  const { environment = process.env, timeoutMs = 10_000 } = options;
  const logger = silentLogger;
  const policy = outboundPolicy(project.endpoints.outbound);
  const fetch = policy && guardedFetch(policy);
  const attempt = async (
    what: string,
    fix: string,
    work: (signal: AbortSignal) => Promise<Omit<Probe, 'what'>>,
  ): Promise<Probe> => {
    try {
      const reason = (): Error => new Error(`no answer within ${timeoutMs} ms`);
      return { what, fix, ...(await within({ milliseconds: timeoutMs, reason }, work)) };
    } catch (error) {
      return { what, found: 'not usable', problem: reasonOf(error), fix };
    }
  };
  const { endpoints, subAgents, directory, files } = project;
  const url = endpoints.actionEndpoint?.url;
  if (await needsStandIn(project, { environment, logger })) {
    const probe = await probePython(project, { environment, logger });
    yield { ...probe, found: `${probe.found}, because nothing answers at ${url}` };
  } else if (url !== undefined) {
    const fix = `start it, for instance with "python -m rasa_sdk --actions actions"`;
    yield await attempt('Action server', fix, (signal) =>
      probeActionServer(project, { url, signal, fetch: actionFetch(project, logger) }),
    );
  } else if (pythonActionsOf(project) !== undefined) {
    yield await probePython(project, { environment, logger });
  }
  const pool = new McpPool(endpoints.mcpServers, { directory, logger, fetch, policy });
  try {
    for (const name of endpoints.mcpServers.keys()) {
      const fix = 'start it, or fix its entry of mcp_servers in endpoints.yml';
      yield await attempt(`MCP server ${name}`, fix, async (signal) => {
        const tools = (await pool.connection(name).tools({ signal })).map((tool) => tool.name);
        const missing = toolsUsed(project, name).filter((tool) => !tools.includes(tool));
        const found = `${tools.length} tools: ${tools.join(', ')}`;
        const [first] = missing;
        if (first === undefined) return { found };
        return {
          found,
          problem: `no tool named "${missing.join('", "')}"`,
          ...present({ fix: suggest(first, tools) }),
        };
      });
    }
  } finally {
    await pool.close();
  }
  const agents = [...subAgents.values()].filter(
    (agent): agent is ExternalAgent => agent.protocol === 'A2A',
  );
  for (const agent of agents) {
    const bindings = (tls?: ClientTls) => options.bindings?.(policy, tls) ?? [];
    const fix = 'start it, or fix agent_card, auth and tls of its config.yml';
    yield await attempt(`Sub agent ${agent.name}`, fix, async (signal) => {
      const caller = new ExternalCaller({
        agent,
        files,
        fetch,
        bindings,
        policy,
        directory,
        logger,
      });
      try {
        await caller.check(signal);
        return { found: 'answers' };
      } finally {
        await caller.close();
      }
    });
  }
}

async function probeActionServer(
  project: Project,
  {
    url,
    signal,
    fetch,
  }: {
    readonly url: string;
    readonly signal: AbortSignal;
    readonly fetch: typeof globalThis.fetch | undefined;
  },
): Promise<Omit<Probe, 'what'>> {
  const { origin } = new URL(url);
  if (!(await isHealthy(origin, signal, fetch))) {
    return { found: origin, problem: `${origin} does not answer` };
  }
  const names = await actionsAt(origin, signal, fetch);
  return { found: `${origin} answers`, ...missingActions(project, names) };
}

async function probePython(
  project: Project,
  options: { readonly environment: Environment; readonly logger: Logger },
): Promise<Probe> {
  const what = 'Action server';
  try {
    await using server: ActionServer = await startPython(project, customActions(project), options);
    const { failure, missing } = server;
    const found = `rasa_sdk with ${server.module}`;
    if (failure !== undefined) return { what, found, problem: failure, fix: 'fix the Python code' };
    if (missing.length === 0) return { what, found };
    return { what, found, ...missingProblem(missing) };
  } catch (error) {
    return { what, found: 'none', problem: reasonOf(error), fix: 'run the command above' };
  }
}

function missingActions(project: Project, names: readonly string[] | undefined) {
  const missing = customActions(project).filter((name) => names?.includes(name) === false);
  return missing.length === 0 ? {} : missingProblem(missing);
}

function missingProblem(missing: readonly string[]) {
  const fix = 'register them there, or define them in actions.ts';
  return { problem: `it has no ${missing.join(', ')}`, fix };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
