import type { LanguageModelV4, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import {
  type CallResult,
  cutResult,
  type Entry,
  type ModelAnswer,
  modelAnswer,
  noUsage,
  runToolLoop,
  toFunctionTool,
  toModelAnswer,
  toPrompt,
} from '../../agents/index.ts';
import { generateText } from '../../models/index.ts';
import { StoredFormat } from '../../store/index.ts';
import { type JsonObject, type JsonValue, LegateError } from '../../protocol/index.ts';
import { MessageStream } from '../actions/runner.ts';
import type { BotMessage } from '../conversation.ts';
import { compileCondition } from '../conditions/condition.ts';
import type { Call } from '../executor/call-handler.ts';
import type { ReactAgent } from '../project/sub-agents.ts';
import { noted } from '../prompt-note.ts';
import { type EventDraft, slotSet } from '../tracker/events.ts';
import { slotValues } from './agent-input.ts';
import type { McpPool } from './mcp.ts';
import type {
  AgentInput,
  AgentOutput,
  StructuredResult,
  SubAgentModule,
  SubAgentTool,
} from './model.ts';
import { type Sleep, slotOfEvent, timeLimit } from './outcome.ts';
import { chatHistory, formerResults, keptResults, systemPrompt } from './react-prompt.ts';
import { reactTools, setSlotTool, TASK_COMPLETED, taskCompleted } from './react-tools.ts';

const journaledAnswer = new StoredFormat({ name: 'journal entry', schema: modelAnswer });

export interface ReactParts {
  readonly agent: ReactAgent;
  readonly model: LanguageModelV4;
  readonly pool: McpPool;
  readonly module: SubAgentModule;
  /** A template of the project. */
  readonly promptTemplate: string | undefined;
  readonly sleep: Sleep;
}

/** Maximum number of tool calls in one answer; further ones are refused. */
const mostCalls = 16;
const mostParallel = 8;
/** Timeout of one model call, retries and delays included; the whole run has its own limit. */
const longestAnswerMs = 120_000;
/** Maximum characters of one tool result: for hooks, and as shown to the model. */
const largestResult = 4 * 1024 * 1024;
const longestShownResult = 16_000;

/** Runs one call of an agent with protocol RASA: a model in a tool loop. */
export async function runReactAgent(
  parts: ReactParts,
  call: Call,
  input: AgentInput,
): Promise<AgentOutput> {
  const { agent } = parts;
  using limit = timeLimit(agent.timeout, call.signal);
  try {
    return await new ReactRun(parts, call, input, limit.signal).take();
  } catch (error) {
    call.signal.throwIfAborted();
    const reason = limit.hasExpired
      ? `took longer than ${agent.timeout ?? 0} s`
      : error instanceof LegateError
        ? error.message
        : 'failed unexpectedly';
    call.logger.error({ agent: agent.name, error }, 'sub_agent.react.failed');
    // Other tools of a step that failed can still run.
    limit.abort();
    return { id: input.id, status: 'fatal_error', errorMessage: reason };
  }
}

/**
 * One turn of a sub agent: the tool loop with the agent's prompt and tools. It ends when the model writes
 * to the user, completes the task with a tool call, or has filled the slots of the exit conditions.
 */
class ReactRun {
  readonly #parts: ReactParts;
  readonly #call: Call;
  readonly #input: AgentInput;
  readonly #signal: AbortSignal;
  /** The slots that the conditions of the call are about. */
  readonly #exitSlots: readonly string[];
  /** Slots visible to the model, with the values it has set. */
  readonly #slots: Record<string, JsonValue>;
  /** All slots, for conditions. */
  readonly #allSlots: Record<string, JsonValue>;
  readonly #events: EventDraft[] = [];
  /** Tool results since the agent became active, earlier turns included. */
  readonly #results: (readonly StructuredResult[])[];
  readonly #system: string;
  readonly #entries: Entry[];
  #answers = 0;
  /** The part of the last answer that was streamed to users. */
  #streamed: BotMessage | undefined;

  constructor(parts: ReactParts, call: Call, input: AgentInput, signal: AbortSignal) {
    const { agent, promptTemplate: own } = parts;
    this.#parts = parts;
    this.#call = call;
    this.#input = input;
    this.#signal = signal;
    this.#exitSlots = exitSlotsOf(call);
    this.#slots = { ...slotValues(input) };
    this.#allSlots = { ...call.slots };
    this.#results = [...formerResults(call.metadata)];
    this.#system = systemPrompt({ agent, call, input, exitSlots: this.#exitSlots, own });
    this.#entries = [...chatHistory(agent.name, call, input)];
  }

  async take(): Promise<AgentOutput> {
    if (this.#isDone()) return this.#end('completed');
    const { agent } = this.#parts;
    const call = this.#call;
    const { logger } = call;
    const signal = this.#signal;
    const own = this.#ownTools();
    const tools = await reactTools(own, { ...this.#parts, signal });
    const definitions = [...tools.values()].map((each, index) => ({
      ...toFunctionTool(each),
      ...(index < own.length && { strict: true }),
    }));
    const policy = {
      calls: {
        tools,
        limits: {
          callsPerStep: mostCalls,
          parallel: mostParallel,
          toolTimeoutMs: (agent.toolTimeout ?? 0) * 1000,
          resultCharacters: largestResult,
        },
        journal: call.journal,
        logger,
        signal,
        context: (_: unknown, controls: { readonly signal: AbortSignal }) => ({
          slots: { ...this.#slots },
          metadata: this.#input.metadata,
          signal: controls.signal,
        }),
      },
      limits: { iterations: agent.maxIterations, tokens: 0 },
      ask: () => this.#journaled(() => this.#ask(definitions)),
      onAnswer: async ({ text }: ModelAnswer) =>
        text === '' ? undefined : this.#end('input_required', text),
      onCalls: async (answer: ModelAnswer) => this.#fill(answer),
      onPause: () =>
        this.#failed('one of its tools asked the user, which only agents of their own can'),
      afterCalls: (results: readonly CallResult[], text: string) => this.#afterCalls(results, text),
      onLimit: () => this.#atLimit(),
    };
    const start = { iteration: 0, usage: noUsage, endsTurn: false, escalates: false };
    return runToolLoop(policy, { ...start, entries: this.#entries });
  }

  get #isTask(): boolean {
    return this.#call.step.exitIf !== undefined;
  }

  /** Whether a tool call completes an open-ended agent, that is one without `exit_if`. */
  readonly #isClosing = ({ name }: { readonly name: string }): boolean =>
    !this.#isTask && name === TASK_COMPLETED;

  /** Evaluates the exit conditions on the slots, events of the module included. */
  #isDone(): boolean {
    const conditions = this.#call.step.exitIf ?? [];
    if (conditions.length === 0) return false;
    return conditions.every((text) => compileCondition(text).evaluate({ slots: this.#allSlots }));
  }

  #ownTools(): readonly SubAgentTool[] {
    if (!this.#isTask) return [taskCompleted];
    const { slots } = this.#call.domain;
    return this.#exitSlots.flatMap((name) => {
      const slot = slots.get(name);
      const set = (value: JsonValue): void => this.#note(slotSet(name, value));
      return slot === undefined ? [] : [setSlotTool(slot, set)];
    });
  }

  /** A turn that runs again reuses the model's answers: their tool calls are journaled too. */
  async #journaled(ask: () => Promise<ModelAnswer>): Promise<ModelAnswer> {
    const { journal } = this.#call;
    if (journal === undefined) return ask();
    this.#answers += 1;
    const key = `answer ${this.#answers}`;
    const known = await journal.read(key);
    if (known !== undefined) return journaledAnswer.decode(known, key);
    const answer = await ask();
    await journal.write(key, journaledAnswer.encode(answer).value);
    return answer;
  }

  async #ask(tools: readonly LanguageModelV4FunctionTool[]): Promise<ModelAnswer> {
    const { model, agent, sleep } = this.#parts;
    const call = this.#call;
    let streamed: BotMessage | undefined;
    // An answer that the model restarts becomes another message: streamed chunks can't be withdrawn.
    const stream = new MessageStream({
      show: call.stream,
      newId: () => crypto.randomUUID(),
      ended: (message) => (streamed = message),
    });
    const onText = async (text: string, isStart: boolean): Promise<void> => {
      if (isStart) await stream.end();
      await stream.chunk(text);
    };
    const prompt = toPrompt(this.#system, this.#entries.map(toShown));
    const request = { component: agent.name, model: model.modelId, prompt };
    try {
      const generated = await noted(call, request, () =>
        generateText(model, {
          prompt,
          ...(tools.length > 0 && { tools: [...tools], toolChoice: { type: 'auto' } }),
          retries: agent.maxRetries,
          timeoutMs: longestAnswerMs,
          signal: this.#signal,
          sleep,
          logger: call.logger,
          ...(this.#isStreamed && { onText }),
        }),
      );
      return toModelAnswer(generated);
    } finally {
      await stream.end();
      this.#streamed = streamed;
    }
  }

  /**
   * Whether the model's text is streamed. A text turns out to be a filler or an answer only at its end,
   * so both are streamed or neither. Answers that a hook can change are not streamed. Orchestrators get
   * whole messages, since they would take chunks for results.
   */
  get #isStreamed(): boolean {
    const { agent, module } = this.#parts;
    const { isStreamed, channel } = this.#call;
    const isChannel = isStreamed === true && channel !== 'a2a';
    return isChannel && agent.enableFillerMessages && module.processOutput === undefined;
  }

  /** Sends the text that accompanies tool calls before the calls run, so that users know why they wait. */
  async #fill({ text, calls }: ModelAnswer): Promise<undefined> {
    if (calls.some(this.#isClosing) || text === '' || !this.#parts.agent.enableFillerMessages)
      return;
    const isShown = this.#streamed?.text?.trim() === text;
    const metadata = { intermediate: true, filler: true, ...(isShown && this.#streamed?.metadata) };
    await this.#call.say({ text, metadata });
  }

  async #afterCalls(
    results: readonly CallResult[],
    text: string,
  ): Promise<AgentOutput | undefined> {
    const current = results
      .filter((each) => !this.#isClosing(each))
      .map(({ name, output }): StructuredResult => {
        const { type, value: result } = output;
        return { name, result, ...(type !== 'value' && { isError: true }) };
      });
    if (current.length > 0) this.#results.push(current);
    const { channel } = this.#call;
    const output = { current, cumulative: this.#results, channel };
    const events = await this.#parts.module.processToolOutput?.(output);
    for (const event of events ?? []) this.#note(event);
    if (this.#isDone()) return this.#end('completed');
    if (!results.some(this.#isClosing)) return undefined;
    return this.#end('completed', text === '' ? await this.#closingText() : text);
  }

  /** Keeps the results so far and lets the model ask the user how to continue. */
  async #atLimit(): Promise<AgentOutput> {
    const text = await this.#closingText();
    if (text !== '') return this.#end('input_required', text);
    const { maxIterations } = this.#parts.agent;
    return this.#failed(`no end after ${maxIterations} iterations (max_iterations)`);
  }

  /** Calls the model without tools, for a text to the user. */
  async #closingText(): Promise<string> {
    return (await this.#ask([])).text;
  }

  #note(event: EventDraft): void {
    this.#events.push(event);
    const set = slotOfEvent(event, this.#call.domain);
    if (set === undefined) return;
    this.#allSlots[set.name] = set.value;
    if (Object.hasOwn(this.#slots, set.name)) this.#slots[set.name] = set.value;
  }

  #failed(errorMessage: string): AgentOutput {
    return { ...this.#end('fatal_error'), errorMessage };
  }

  #end(status: AgentOutput['status'], text = ''): AgentOutput {
    const { mode, metadata: before, clock } = this.#call;
    const isRestarted = mode === 'restart' || before['restarted'] === true;
    const metadata: JsonObject =
      status === 'input_required'
        ? {
            last_message: text.slice(0, 2_000),
            structured_results: keptResults(this.#results),
            ...(isRestarted && { restarted: true }),
          }
        : {};
    return {
      id: this.#input.id,
      status,
      ...(text !== '' && { responseMessage: text }),
      ...(text !== '' &&
        this.#streamed !== undefined && { streamed: streamedText(this.#streamed) }),
      events: this.#events,
      structuredResults: this.#results,
      metadata,
      timestamp: new Date(clock.now()).toISOString(),
    };
  }
}

/** The entry as the model sees it: tool results are truncated. */
function toShown(entry: Entry): Entry {
  if (entry.role !== 'tool') return entry;
  return { ...entry, results: entry.results.map((each) => cutResult(each, longestShownResult)) };
}

/** The slots that the conditions of the call are about. */
function exitSlotsOf({ step, domain }: Pick<Call, 'step' | 'domain'>): readonly string[] {
  const names = (step.exitIf ?? []).flatMap((text) => compileCondition(text).references.slots);
  return [...new Set(names)].filter((name) => domain.slots.has(name));
}

function streamedText({ text = '', metadata }: BotMessage): { id: string; text: string } {
  const id = metadata?.['stream_id'];
  return { id: typeof id === 'string' ? id : '', text: text.trim() };
}
