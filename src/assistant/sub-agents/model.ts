import { type Schema, type Tool, tool, type ToolOptions } from '../../agents/index.ts';
import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { BotMessage, TrackerEvent } from '../conversation.ts';
import type { SlotType } from '../model.ts';
import type { EventDraft } from '../tracker/events.ts';

/**
 * A slot as a sub agent sees it.
 * @example
 * const board: AgentInputSlot = {
 *   name: 'board', value: null, type: 'categorical', allowedValues: ['breakfast', 'half', 'full'],
 * };
 */
export interface AgentInputSlot {
  readonly name: string;
  readonly value: JsonValue;
  readonly type: SlotType;
  /** Only for categorical and boolean slots. */
  readonly allowedValues?: readonly JsonValue[];
}

/**
 * The input of a sub agent.
 * @example
 * const withoutPast = (input: AgentInput): AgentInput => ({ ...input, conversationHistory: '' });
 */
export interface AgentInput {
  /** Id of this call; a retry has the same. */
  readonly id: string;
  readonly userMessage: string;
  /** All slots of the project, with or without a value. */
  readonly slots: readonly AgentInputSlot[];
  /** The last messages, one per line, the current one included. */
  readonly conversationHistory: string;
  /** The last events of the conversation, oldest first. */
  readonly events: readonly TrackerEvent[];
  /** For code, never shown to a model: `sender_id`, `agent_id`, `exit_if`, `context_id`, ... */
  readonly metadata: JsonObject;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly recipientId: string;
}

/**
 * How a sub agent's output continues its flow.
 * - `input_required`: the agent asks the user, and continues with the answer.
 * - `completed`: the flow continues.
 * - `recoverable_error`: the agent is retried a few times; then the error is fatal.
 * - `fatal_error`: the flow ends with an apology.
 * @example const status: AgentStatus = answer.status === 503 ? 'recoverable_error' : 'fatal_error';
 */
export type AgentStatus = 'input_required' | 'completed' | 'recoverable_error' | 'fatal_error';

/**
 * The result of one tool call, or one artifact.
 * @example
 * const found: StructuredResult = {
 *   name: 'find_hotels', result: [{ hotel: 'Seaside', price: 120 }], isError: false,
 * };
 */
export interface StructuredResult {
  readonly name: string;
  readonly result: JsonValue;
  readonly type?: string;
  readonly isError?: boolean;
}

/**
 * The output of a sub agent.
 * @example
 * const ask = ({ id }: AgentInput): AgentOutput => ({
 *   id, status: 'input_required', responseMessage: 'Over how many months?',
 *   metadata: { amount: 5_000 }, // comes back with the answer
 * });
 */
export interface AgentOutput {
  /** The id of the input. */
  readonly id: string;
  readonly status: AgentStatus;
  /** The message to the user. With a fatal error, it replaces the apology. */
  readonly responseMessage?: string;
  /** The part of the message that was streamed to users: it is not sent again. */
  readonly streamed?: { readonly id: string; readonly text: string };
  /** Applied to the conversation; invalid events are ignored. */
  readonly events?: readonly EventDraft[];
  /** One list for each step since the agent became active, earlier turns included. */
  readonly structuredResults?: readonly (readonly StructuredResult[])[];
  /** Kept while the user is asked, and part of the next input. Keep it small. */
  readonly metadata?: JsonObject;
  readonly timestamp?: string;
  /** For the log; users never see it. */
  readonly errorMessage?: string;
}

/**
 * What the code of an agent can use while it runs.
 * @example
 * const run = async ({ id }: AgentInput, { say, signal }: AgentWork): Promise<AgentOutput> => {
 *   await say({ text: 'I am looking through the offers.' });
 *   return { id, status: 'completed', responseMessage: await bestOffer(signal) };
 * };
 */
export interface AgentWork {
  /** Sends a message to the user at once. */
  readonly say: (message: BotMessage) => Promise<void>;
  /** Aborts with the turn, and when the agent times out. */
  readonly signal: AbortSignal;
  readonly channel: string;
}

/**
 * The results of a sub agent's tools.
 * @example
 * const failed = ({ current }: ToolOutput) => current.filter(({ isError }) => isError === true);
 */
export interface ToolOutput {
  /** Results of this step. */
  readonly current: readonly StructuredResult[];
  /** Results of all steps, this one included. */
  readonly cumulative: readonly (readonly StructuredResult[])[];
  readonly channel: string;
}

/**
 * What the module of a sub agent can export, under these names.
 * @example
 * export const processToolOutput: SubAgentModule['processToolOutput'] = ({ current }) =>
 *   current.filter(({ name }) => name === 'find_hotels').map(({ result }) => slotSet('hotels', result));
 */
export interface SubAgentModule {
  /** Changes the agent's input; a slot that is removed here is not shared. */
  readonly processInput?: (input: AgentInput) => AgentInput | Promise<AgentInput>;
  /** Changes the agent's output, for both protocols. */
  readonly processOutput?: (output: AgentOutput) => AgentOutput | Promise<AgentOutput>;
  /** Like `processOutput`, for agents with protocol A2A; called before it. */
  readonly processAgentOutput?: (output: AgentOutput) => AgentOutput | Promise<AgentOutput>;
  /** Converts tool results to events, after each step of an agent with protocol RASA. */
  readonly processToolOutput?: (
    output: ToolOutput,
  ) => readonly EventDraft[] | Promise<readonly EventDraft[]>;
  /** Tools in addition to those of MCP servers. */
  readonly tools?: readonly SubAgentTool[];
  /** The agent itself, instead of a model. */
  readonly run?: (input: AgentInput, work: AgentWork) => AgentOutput | Promise<AgentOutput>;
}

/**
 * The context of a tool call.
 * @example
 * // The model cannot ask for the bookings of another user: it never chooses the sender.
 * const run = (_: unknown, { metadata, signal }: SubAgentToolContext) =>
 *   bookingsOf(metadata['sender_id'], { signal });
 */
export interface SubAgentToolContext {
  /** The metadata of the agent's input; never shown to the model. */
  readonly metadata: JsonObject;
  /** The slots that are visible to the agent. */
  readonly slots: Readonly<Record<string, JsonValue>>;
  readonly signal: AbortSignal;
}

/**
 * A function that the model of a sub agent can call. Create one with `subAgentTool`.
 * @example const names = (tools: readonly SubAgentTool[]) => tools.map(({ name }) => name);
 */
export type SubAgentTool = Tool<SubAgentToolContext>;

/**
 * The options of a sub agent's tool.
 * @example
 * const options: SubAgentToolOptions<JsonObject> = {
 *   name: 'find_hotels', description: 'Hotels of a city that have free rooms.',
 *   input: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
 *   run: ({ city }, { signal }) => hotelsIn(city, { signal }),
 * };
 */
export type SubAgentToolOptions<S extends Schema | JsonObject> = Pick<
  ToolOptions<S, SubAgentToolContext>,
  'name' | 'description' | 'input' | 'run'
>;

/**
 * A tool for the module of a sub agent.
 * @example
 * export const tools = [subAgentTool({
 *   name: 'add', description: 'Adds two numbers.',
 *   input: z.object({ a: z.number(), b: z.number() }), run: ({ a, b }) => a + b,
 * })];
 */
export function subAgentTool<const S extends Schema | JsonObject>(
  options: SubAgentToolOptions<S>,
): SubAgentTool {
  return tool(options);
}
