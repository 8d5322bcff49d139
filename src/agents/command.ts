import type { Caller, Clock, ContextPatch, ContextState } from './agent.ts';
import type { Logger } from '../telemetry/index.ts';

/** Decodes a value from the store or from an untyped caller; zod schemas implement it. */
interface Decoder<T> {
  parse(value: unknown): T;
}

/**
 * A typed call that is queued with the turns of a conversation, like a message, but creates no task.
 * Its input and its result are JSON, since another replica can run it.
 * @example
 * import { z } from 'zod';
 * const forget: AgentCommand<{ since: number }, number> = {
 *   name: 'forget',
 *   input: z.object({ since: z.number() }),
 *   result: z.number(),
 * };
 */
export interface AgentCommand<Input, Result, Progress = never> {
  /** Unique among the commands of an agent. */
  readonly name: string;
  readonly input: Decoder<Input>;
  readonly result: Decoder<Result>;
  /** Progress that the agent reports while it runs. */
  readonly progress?: Decoder<Progress>;
  /** Whether it supersedes open questions of the conversation, as a message does. @default false */
  readonly supersedes?: boolean;
}

/**
 * A running command.
 * @example const countOf = async (turn: CommandTurn) => Number((await turn.state.load())?.['count'] ?? 0);
 */
export interface CommandTurn {
  /** The id of the command, unique among all commands. */
  readonly id: string;
  readonly contextId: string;
  readonly caller: Caller;
  readonly state: ContextState;
  /** Aborts on timeout, shutdown and when the command is cancelled. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Reports progress to the caller. Progress is lost if the caller waits in another process. */
  report(progress: unknown): void;
}

/**
 * The outcome of a command; the conversation is saved in the transaction that ends the command.
 * @example const outcome: CommandOutcome<number> = { result: 3, context: { value: { count: 3 } } };
 */
export interface CommandOutcome<Result = unknown> {
  readonly result: Result;
  readonly context?: ContextPatch;
}

/**
 * The part of an agent that handles one command.
 * @example const names = (agent: Agent) => agent.commands?.map(({ command }: CommandHandler) => command.name);
 */
export interface CommandHandler {
  readonly command: AgentCommand<unknown, unknown, unknown>;
  handle(turn: CommandTurn, input: unknown): Promise<CommandOutcome>;
}

/**
 * Binds a command to the function that handles it.
 * @example
 * import { z } from 'zod';
 * const twice = { name: 'twice', input: z.number(), result: z.number() };
 * const handler = handleCommand(twice, async (_turn, count) => ({ result: 2 * count }));
 */
export function handleCommand<Input, Result, Progress>(
  command: AgentCommand<Input, Result, Progress>,
  handle: (turn: CommandTurn, input: Input) => Promise<CommandOutcome<Result>>,
): CommandHandler {
  return { command, handle: (turn, input) => handle(turn, command.input.parse(input)) };
}
