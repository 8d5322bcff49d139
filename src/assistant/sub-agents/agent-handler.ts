import type { LanguageModelV4 } from '@ai-sdk/provider';
import { errorMessage } from '../../protocol/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import { until } from '../../time/index.ts';
import type { BotMessage } from '../conversation.ts';
import { isInBackground } from '../executor/agents.ts';
import type { AbandonedCall, Call, CallHandler, CallOutcome } from '../executor/call-handler.ts';
import type { SubAgent } from '../project/sub-agents.ts';
import { agentInput } from './agent-input.ts';
import { ExternalCaller, type ExternalParts } from './external-agent.ts';
import type { McpPool } from './mcp.ts';
import type { AgentInput, AgentOutput, SubAgentModule } from './model.ts';
import { outcomeOf, ProgressMessages, type Sleep, timeLimit, withRetries } from './outcome.ts';
import { runReactAgent } from './react-agent.ts';

export interface AgentHandlerParts {
  readonly agent: SubAgent;
  readonly module: SubAgentModule;
  /** Only for agents with protocol RASA. */
  readonly model: LanguageModelV4 | undefined;
  readonly pool: McpPool;
  readonly files: ReadonlyMap<string, string>;
  readonly modelId: string;
  readonly sleep: Sleep;
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** @default [] */
  readonly bindings?: ExternalParts['bindings'];
  readonly policy?: ExternalParts['policy'];
  readonly directory: string;
  readonly logger: Logger;
}

/** Runs `call:` steps of one sub agent, for all protocols. */
export class AgentHandler implements CallHandler {
  readonly kind = 'agent';
  readonly hasContexts: boolean;
  readonly #parts: AgentHandlerParts;
  readonly #external: ExternalCaller | undefined;

  constructor(parts: AgentHandlerParts) {
    this.#parts = parts;
    const { agent, files, fetch, bindings, policy, directory, logger } = parts;
    this.hasContexts = agent.protocol === 'A2A';
    if (agent.protocol !== 'A2A') return;
    this.#external = new ExternalCaller({
      agent,
      files,
      fetch,
      bindings,
      policy,
      directory,
      logger,
    });
  }

  handles({ target, mcpServer }: Call['step']): boolean {
    return mcpServer === undefined && target === this.#parts.agent.name;
  }

  /**
   * A repeated call finds its remote task by the ids of message and context, and the tool calls of a
   * model are journaled. What a module's `run` does is unknown, so it is not repeatable.
   */
  isRepeatable(): boolean {
    return this.#parts.module.run === undefined;
  }

  async run(call: Call): Promise<CallOutcome> {
    const { agent, module, modelId, sleep } = this.#parts;
    const { signal, logger } = call;
    const given = await agentInput(agent, call, { modelId });
    const input = (await module.processInput?.(given)) ?? given;
    using intermediate = new ProgressMessages(call);
    const output = await withRetries(
      async () =>
        this.#processed(await this.#attempt({ ...call, say: intermediate.attempt() }, input)),
      { agent: agent.name, retries: agent.maxRetries, sleep, signal, logger },
    );
    const outcome = outcomeOf(call, output);
    if (output.status === 'input_required' && outcome.status !== 'input-required') {
      // The flow has ended, so no answer will come.
      await this.#external?.cancel(output.metadata ?? {}, logger);
    }
    return outcome;
  }

  async cancel({ metadata, logger }: AbandonedCall): Promise<void> {
    await this.#external?.cancel(metadata, logger);
  }

  async close(): Promise<void> {
    await this.#external?.close();
  }

  /** Throws if the agent, or an MCP server that it needs, is unavailable. */
  async check(signal?: AbortSignal): Promise<void> {
    const { agent, pool } = this.#parts;
    await this.#external?.check(signal);
    if (agent.protocol === 'A2A') return;
    for (const { name } of agent.mcpServers) {
      await pool.connection(name).tools(signal === undefined ? {} : { signal });
    }
  }

  async #attempt(call: Call, input: AgentInput): Promise<AgentOutput> {
    const { agent, module, model, files } = this.#parts;
    if (module.run !== undefined) return this.#runModule(module.run, call, input);
    if (this.#external !== undefined) {
      // Text that a hook can change is not streamed.
      const { processOutput, processAgentOutput } = module;
      const isStreamed =
        call.isStreamed === true && processOutput === undefined && processAgentOutput === undefined;
      return this.#callExternal(this.#external, { ...call, isStreamed }, input);
    }
    if (agent.protocol === 'A2A' || model === undefined) {
      return {
        id: input.id,
        status: 'fatal_error',
        errorMessage: `sub agent ${agent.name} has no model; name a model group with its key in configuration.llm.model_group`,
      };
    }
    const promptTemplate =
      agent.promptTemplate === undefined ? undefined : files.get(agent.promptTemplate);
    return runReactAgent({ ...this.#parts, agent, model, promptTemplate }, call, input);
  }

  async #callExternal(
    external: ExternalCaller,
    call: Call,
    input: AgentInput,
  ): Promise<AgentOutput> {
    if (isInBackground(call.metadata)) return external.look(call, input);
    const isAnswer = call.mode !== 'resume' || call.isCorrection;
    const again = isAnswer ? undefined : await external.lookAgain(call, input);
    return again ?? external.run(call, input);
  }

  async #runModule(
    run: NonNullable<SubAgentModule['run']>,
    call: Call,
    input: AgentInput,
  ): Promise<AgentOutput> {
    const { agent } = this.#parts;
    using limit = timeLimit(agent.timeout, call.signal);
    const { signal } = limit;
    try {
      const work = {
        say: async (message: BotMessage) => {
          if (!signal.aborted) await call.say(message);
        },
        signal,
        channel: call.channel,
      };
      return await until(run(input, work), signal);
    } catch (error) {
      call.signal.throwIfAborted();
      call.logger.error({ agent: agent.name, error }, 'sub_agent.module.failed');
      return { id: input.id, status: 'fatal_error', errorMessage: errorMessage(error) };
    }
  }

  async #processed(output: AgentOutput): Promise<AgentOutput> {
    const { agent, module } = this.#parts;
    const own =
      agent.protocol === 'A2A' ? ((await module.processAgentOutput?.(output)) ?? output) : output;
    return (await module.processOutput?.(own)) ?? own;
  }
}
