import type { LanguageModelV4 } from '@ai-sdk/provider';
import { LegateError } from '../../../protocol/index.ts';
import type { Call } from '../../executor/index.ts';
import type { ReactAgent } from '../../project/index.ts';
import type { McpPool } from '../mcp-pool.ts';
import type { AgentInput, AgentOutput, SubAgentModule } from '../model.ts';
import { type Sleep, timeLimit } from '../patience.ts';
import { ReactRun } from './react-run.ts';
import { openToolBox } from './tool-box.ts';

export interface ReactParts {
  readonly agent: ReactAgent;
  readonly model: LanguageModelV4;
  readonly pool: McpPool;
  readonly module: SubAgentModule;
  /** A template of the project. */
  readonly promptTemplate: string | undefined;
  readonly sleep: Sleep;
}

/** One call of an agent with protocol RASA: a model in a loop with tools. */
export async function runReactAgent(
  parts: ReactParts,
  call: Call,
  input: AgentInput,
): Promise<AgentOutput> {
  const { agent, pool, module } = parts;
  using limit = timeLimit(agent.timeout, call.signal);
  const { signal } = limit;
  try {
    const tools = await openToolBox({ agent, pool, module, signal });
    return await new ReactRun({ ...parts, call, input, tools, signal }).take();
  } catch (error) {
    call.signal.throwIfAborted();
    const reason = limit.hasExpired
      ? `took longer than ${agent.timeout ?? 0} s`
      : error instanceof LegateError
        ? error.message
        : 'failed unexpectedly';
    call.logger.error({ agent: agent.name, error }, 'sub_agent.react.failed');
    return { id: input.id, status: 'fatal_error', errorMessage: reason };
  }
}
