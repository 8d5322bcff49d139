import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ToolCall,
} from '@ai-sdk/provider';
import { type GeneratedText, generateText } from '../../../models/index.ts';
import type { JsonObject, JsonValue } from '../../../protocol/index.ts';
import { compileCondition } from '../../conditions/index.ts';
import type { Call } from '../../executor/index.ts';
import { noted } from '../../prompt-note.ts';
import { type EventDraft, slotSet } from '../../tracker/index.ts';
import { slotValues } from '../agent-input.ts';
import type { AgentInput, AgentOutput, StructuredResult } from '../model.ts';
import { slotOfEvent } from '../slot-events.ts';
import { chatHistory } from './history.ts';
import {
  readSlotValue,
  setSlotTool,
  slotOfCall,
  TASK_COMPLETED,
  taskCompleted,
} from './own-tools.ts';
import { systemPrompt } from './prompt.ts';
import type { ReactParts } from './react-agent.ts';
import { rememberResults, rememberedResults } from './remembered-results.ts';
import type { BoxedTool } from './tool-box.ts';
import { type Shown, shownAs, Voice } from './voice.ts';

interface RunParts extends ReactParts {
  readonly call: Call;
  readonly input: AgentInput;
  readonly tools: ReadonlyMap<string, BoxedTool>;
  readonly signal: AbortSignal;
}

/** What the model said, and what of it users have seen. */
interface Words {
  readonly text: string;
  readonly shown: Shown | undefined;
}

/** Calls of one answer that are carried out; the others are refused. */
const mostCalls = 16;
/** For one answer of the model, attempts and waits included; the whole run has its own limit. */
const longestAnswerMs = 120_000;
/** Characters of one result that the model sees. */
const longestResult = 16_000;

/**
 * One turn of the loop: ask the model, carry out what it calls, and again, until it speaks to the
 * user, says that the task is done, or has filled what the task was about.
 */
export class ReactRun {
  readonly #parts: RunParts;
  readonly #exitSlots: readonly string[];
  /** What the model may see, and what it set since. */
  readonly #slots: Record<string, JsonValue>;
  /** All slots, for conditions. */
  readonly #allSlots: Record<string, JsonValue>;
  readonly #events: EventDraft[] = [];
  readonly #results: (readonly StructuredResult[])[] = [];
  readonly #messages: LanguageModelV4Prompt;

  constructor(parts: RunParts) {
    const { call, input, agent } = parts;
    this.#parts = parts;
    this.#exitSlots = exitSlotsOf(call);
    this.#slots = { ...slotValues(input) };
    this.#allSlots = { ...call.slots };
    const system = systemPrompt({
      agent,
      call,
      input,
      exitSlots: this.#exitSlots,
      results: rememberedResults(call.metadata),
      own: parts.promptTemplate,
    });
    this.#messages = [{ role: 'system', content: system }, ...chatHistory(agent.name, call, input)];
  }

  async take(): Promise<AgentOutput> {
    const { agent } = this.#parts;
    if (this.#isDone()) return this.#end('completed');
    const tools = [
      ...this.#ownTools(),
      ...[...this.#parts.tools.values()].map((one) => one.definition),
    ];
    for (let iteration = 0; iteration < agent.maxIterations; iteration += 1) {
      const answer = await this.#ask(tools);
      const words = answer.words;
      if (answer.toolCalls.length === 0) {
        if (words.text !== '') return this.#end('input_required', words);
        continue;
      }
      const isClosing = answer.toolCalls.some(({ toolName }) => toolName === TASK_COMPLETED);
      if (!isClosing) await this.#fill(words);
      await this.#carryOut(answer);
      if (this.#isDone()) return this.#end('completed');
      if (isClosing && !this.#isTask) {
        return this.#end('completed', words.text === '' ? await this.#lastWords() : words);
      }
    }
    // What was found out so far is kept, and the user may say how to go on.
    const words = await this.#lastWords();
    if (words.text !== '') return this.#end('input_required', words);
    return {
      ...this.#end('fatal_error'),
      errorMessage: `no end after ${agent.maxIterations} iterations (max_iterations)`,
    };
  }

  get #isTask(): boolean {
    return this.#parts.call.step.exitIf !== undefined;
  }

  /** Conditions count when the agent has taken a step, its module's events included. */
  #isDone(): boolean {
    const conditions = this.#parts.call.step.exitIf ?? [];
    if (conditions.length === 0) return false;
    return conditions.every((text) => compileCondition(text).evaluate({ slots: this.#allSlots }));
  }

  #ownTools(): readonly LanguageModelV4FunctionTool[] {
    if (!this.#isTask) return [taskCompleted];
    const { slots } = this.#parts.call.domain;
    return this.#exitSlots.flatMap((name) => {
      const slot = slots.get(name);
      return slot === undefined ? [] : [setSlotTool(slot)];
    });
  }

  async #ask(
    tools: readonly LanguageModelV4FunctionTool[],
  ): Promise<GeneratedText & { readonly words: Words }> {
    const { model, agent, signal, call, sleep } = this.#parts;
    const voice = this.#isStreamed ? new Voice(call) : undefined;
    let shown: Shown | undefined;
    let answer: GeneratedText;
    try {
      const asked = { component: agent.name, model: model.modelId, prompt: this.#messages };
      answer = await noted(call, asked, () =>
        generateText(model, {
          prompt: this.#messages,
          ...(tools.length > 0 && { tools: [...tools], toolChoice: { type: 'auto' } }),
          retries: agent.maxRetries,
          timeoutMs: longestAnswerMs,
          signal,
          sleep,
          logger: call.logger,
          ...(voice !== undefined && { onText: (text, isStart) => voice.say(text, isStart) }),
        }),
      );
    } finally {
      shown = await voice?.end();
    }
    return { ...answer, words: { text: answer.text.trim(), shown } };
  }

  /**
   * Whether what the model says is shown while it comes to be. Whether it is a filler or an answer
   * shows only when it is over, so both are, or none: an answer that a hook may change is not shown
   * before. Orchestrators are told whole messages, for pieces would be results to them.
   */
  get #isStreamed(): boolean {
    const { agent, call, module } = this.#parts;
    const isChannel = call.isStreamed === true && call.channel !== 'a2a';
    return isChannel && agent.enableFillerMessages && module.processOutput === undefined;
  }

  /** One more line for the user, when the model only acted. */
  async #lastWords(): Promise<Words> {
    return (await this.#ask([])).words;
  }

  /** What stands beside calls is said before they run, so that the user knows why it takes time. */
  async #fill({ text, shown }: Words): Promise<void> {
    const { agent, call } = this.#parts;
    if (text === '' || !agent.enableFillerMessages) return;
    const metadata = { intermediate: true, filler: true, ...shownAs(shown, text) };
    await call.say({ text, metadata });
  }

  async #carryOut({ text, toolCalls }: GeneratedText): Promise<void> {
    const { call, module } = this.#parts;
    this.#messages.push({
      role: 'assistant',
      content: [
        ...(text === '' ? [] : [{ type: 'text' as const, text }]),
        ...toolCalls.map(({ toolCallId, toolName, input }) => ({
          type: 'tool-call' as const,
          toolCallId,
          toolName,
          input: parsed(input).value,
        })),
      ],
    });
    const current = await Promise.all(toolCalls.map((one, index) => this.#carryOutOne(one, index)));
    this.#messages.push({
      role: 'tool',
      content: current.map(({ result, isError }, index) => ({
        type: 'tool-result' as const,
        toolCallId: toolCalls[index]?.toolCallId ?? '',
        toolName: toolCalls[index]?.toolName ?? '',
        output:
          isError === true
            ? { type: 'error-text' as const, value: shown(result) }
            : { type: 'text' as const, value: shown(result) },
      })),
    });
    const used = current.filter(({ name }) => name !== TASK_COMPLETED);
    if (used.length > 0) this.#results.push(used);
    const events = await module.processToolOutput?.({
      current: used,
      cumulative: this.#results,
      channel: call.channel,
    });
    for (const event of events ?? []) this.#note(event);
  }

  async #carryOutOne(
    { toolName, input }: LanguageModelV4ToolCall,
    index: number,
  ): Promise<StructuredResult> {
    const failed = (problem: string): StructuredResult => ({
      name: toolName,
      result: problem,
      isError: true,
    });
    if (index >= mostCalls) return failed(`more than ${mostCalls} calls at once; call it again`);
    const { ok, value } = parsed(input);
    if (!ok) return failed('the input is no JSON');
    if (toolName === TASK_COMPLETED && !this.#isTask) return { name: toolName, result: 'done' };
    const slotName = slotOfCall(toolName);
    if (slotName !== undefined && this.#exitSlots.includes(slotName)) {
      return this.#setSlot(toolName, slotName, value);
    }
    const tool = this.#parts.tools.get(toolName);
    if (tool === undefined) return failed('there is no such tool');
    const { signal, input: about } = this.#parts;
    return tool.run(value, { slots: { ...this.#slots }, metadata: about.metadata, signal });
  }

  #setSlot(tool: string, name: string, input: JsonValue): StructuredResult {
    const slot = this.#parts.call.domain.slots.get(name);
    if (slot === undefined) return { name: tool, result: 'there is no such slot', isError: true };
    const read = readSlotValue(slot, input);
    if (!read.ok) return { name: tool, result: read.problem, isError: true };
    this.#note(slotSet(name, read.value));
    return { name: tool, result: read.value };
  }

  #note(event: EventDraft): void {
    this.#events.push(event);
    const set = slotOfEvent(event, this.#parts.call.domain);
    if (set === undefined) return;
    this.#allSlots[set.name] = set.value;
    if (Object.hasOwn(this.#slots, set.name)) this.#slots[set.name] = set.value;
  }

  #end(status: AgentOutput['status'], said?: Words): AgentOutput {
    const words = said?.text;
    const streamed = said?.shown;
    const { input, call } = this.#parts;
    const isRestarted = call.mode === 'restart' || call.metadata['restarted'] === true;
    const metadata: JsonObject =
      status === 'input_required'
        ? {
            last_message: (words ?? '').slice(0, 2_000),
            tool_results: rememberResults(call.metadata, this.#results),
            ...(isRestarted && { restarted: true }),
          }
        : {};
    return {
      id: input.id,
      status,
      ...(words !== undefined && words !== '' && { responseMessage: words }),
      ...(streamed !== undefined && { streamed }),
      events: this.#events,
      structuredResults: this.#results,
      metadata,
      timestamp: new Date(call.clock.now()).toISOString(),
    };
  }
}

/** The slots that the conditions of the call are about. */
export function exitSlotsOf({ step, domain }: Pick<Call, 'step' | 'domain'>): readonly string[] {
  const names = (step.exitIf ?? []).flatMap((text) => compileCondition(text).references.slots);
  return [...new Set(names)].filter((name) => domain.slots.has(name));
}

function parsed(input: string): { readonly ok: boolean; readonly value: JsonValue } {
  if (input.trim() === '') return { ok: true, value: {} };
  try {
    return { ok: true, value: JSON.parse(input) as JsonValue };
  } catch {
    return { ok: false, value: {} };
  }
}

function shown(result: JsonValue): string {
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  return text.length > longestResult ? `${text.slice(0, longestResult)}… (cut)` : text;
}
