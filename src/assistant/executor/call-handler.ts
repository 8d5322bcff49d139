import { hash } from 'node:crypto';
import type { Journal } from '../../agents/index.ts';
import type { JsonObject } from '../../protocol/index.ts';
import { type Logger, traced } from '../../telemetry/index.ts';
import type { StreamPiece, TurnContext } from '../actions/runner.ts';
import type { AgentFrame, AgentRun, BotMessage, FlowFrame } from '../conversation.ts';
import { compileCondition } from '../conditions/condition.ts';
import type { CallStep, Flow } from '../model.ts';
import type { PromptNoting } from '../prompt-note.ts';
import { activeSegment, callChain, isSamePath, removeFrames } from '../stack/stack.ts';
import { agentEvent, type EventDraft, slotSet } from '../tracker/events.ts';
import type { TranscriptEntry } from '../tracker/state.ts';
import { isInBackground, rememberRun } from './agents.ts';
import { applyEvents, NOT_OF_AGENTS } from './apply-events.ts';
import { checkSlots } from './collect.ts';
import { type Dialogue, StepFailure } from './dialogue.ts';
import type { Prediction } from './run.ts';
import { callOutcome, OutcomeUnknown } from './turn-journal.ts';

/**
 * Executes `call:` steps of tools and agents. A tool returns once. An agent can ask the user, and the
 * engine can continue, interrupt, resume and restart it. The engine keeps the agent's frame and
 * events; the handler is responsible for retries. A thrown error counts as a failure.
 * @example
 * const weather: CallHandler = {
 *   kind: 'tool',
 *   handles: (step) => step.target === 'weather',
 *   run: async () => ({ status: 'completed', messages: [], events: [], metadata: {} }),
 * };
 */
export interface CallHandler {
  readonly kind: 'tool' | 'agent';
  /**
   * Whether the agent has contexts of its own and accepts the id of a new one: `context_id` of the metadata.
   * @default false
   */
  readonly hasContexts?: boolean;
  handles(step: CallStep): boolean;
  /**
   * Whether a call may run again after its process died: it has no effect, is idempotent, or has a journal
   * of its own. @default false
   */
  isRepeatable?(step: CallStep): boolean | Promise<boolean>;
  run(call: Call): Promise<CallOutcome>;
  /** Cancels remote tasks. Called after the flow that waited for the agent was cancelled. */
  cancel?(call: AbandonedCall): Promise<void>;
  /** Releases connections and processes. Nothing is called after it. */
  close?(): Promise<void>;
}

/**
 * An abandoned call.
 * @example const cancel = async ({ metadata }: AbandonedCall) => desk.giveUp(metadata['task_id']);
 */
export interface AbandonedCall {
  readonly step: CallStep;
  readonly metadata: JsonObject;
  readonly logger: Logger;
}

/**
 * The execution of a `call` step.
 * @example
 * const run = async ({ mode, say }: Call) => {
 *   if (mode === 'start') await say({ text: 'One moment, I am asking the hotel.' });
 * };
 */
export interface Call extends TurnContext {
  readonly step: CallStep;
  readonly flow: Flow;
  /**
   * `start`: the step was reached for the first time, or again in a loop. `continue`: the user answered.
   * `resume`: the agent continues after an interruption. `restart`: the user asks for a completed agent
   * again.
   */
  readonly mode: 'start' | 'continue' | 'resume' | 'restart';
  /** Whether the user's message corrected a slot. */
  readonly isCorrection: boolean;
  /** The metadata that the handler returned last for this run; empty at the start. */
  readonly metadata: JsonObject;
  readonly userMessage: string;
  /** The last turns, oldest first, including the current message. */
  readonly transcript: readonly TranscriptEntry[];
  /** Sends a message to the user during the call. */
  say(message: BotMessage): Promise<void>;
  readonly stream: (piece: StreamPiece) => Promise<void>;
  /** Whether the channel streams chunks. @default false */
  readonly isStreamed?: boolean;
  /** For the parts of a call; undefined if the turn never runs again. */
  readonly journal?: Journal | undefined;
  /** Receives a note of each call of a model. */
  readonly onPrompt?: PromptNoting['onPrompt'];
}

/**
 * The result of a call step.
 * @example
 * const outcome: CallOutcome = {
 *   status: 'input-required', messages: [{ text: 'Sea view or garden?' }],
 *   events: [slotSet('hotel', 'Seaside')], metadata: { task_id: 'task-12' },
 * };
 */
export type CallOutcome =
  | {
      readonly status: 'completed' | 'input-required';
      readonly messages: readonly BotMessage[];
      /** Applied before the flow continues. Slot events of unknown slots are ignored. */
      readonly events: readonly EventDraft[];
      /** Saved with the frame and passed to the next call. Keep it small. */
      readonly metadata: JsonObject;
    }
  | {
      readonly status: 'failed';
      /** For the log; never shown to users. */
      readonly reason: string;
      readonly info?: JsonObject;
      /** Sent to the user instead of the error message of `pattern_internal_error`. @default none */
      readonly messages?: readonly BotMessage[];
    };

type CallPrediction = Extract<Prediction, { kind: 'call' }>;

/** Calls a tool or an agent, and keeps the agent's frame and events. */
export async function runCall(dialogue: Dialogue, prediction: CallPrediction): Promise<void> {
  const { handler, step } = prediction;
  const run = withContext(dialogue, prediction, runOf(dialogue, prediction));
  if (handler.kind === 'agent') {
    announce(dialogue, prediction, run);
    forgetFormerRun(dialogue, prediction, run);
  }
  dialogue.facts.forAgent = false;
  const outcome = await outcomeOf(dialogue, prediction, run);
  if (outcome.status === 'failed') {
    const { messages = [], reason } = outcome;
    if (handler.kind === 'agent') dropAgent(dialogue, prediction, reason);
    for (const message of messages) await dialogue.say(message, { agent_id: step.target });
    const info = { ...outcome.info, target: step.target, error_source: handler.kind };
    const context = messages.length === 0 ? {} : { is_told: true };
    throw new StepFailure(`${handler.kind}_failed`, `call ${step.target}: ${reason}`, info, {
      context,
    });
  }
  const origin = handler.kind === 'agent' ? { agent_id: step.target } : {};
  for (const message of outcome.messages) await dialogue.say(message, origin);
  const filled = await applyEvents(dialogue, outcome.events, {
    except: NOT_OF_AGENTS,
    by: step.target,
  });
  if (handler.kind === 'agent') {
    if (outcome.status === 'completed') completeAgent(dialogue, prediction, outcome.metadata);
    else keepAgent(dialogue, prediction, outcome.metadata);
  }
  const agent = dialogue.top;
  checkSlots(dialogue, filled);
  // The user is asked for valid values first; then the agent is called again.
  if (agent?.type === 'agent' && dialogue.top !== agent) {
    dialogue.replace({ ...agent, state: 'resuming' });
  } else if (outcome.status === 'input-required' && isInBackground(outcome.metadata)) {
    dialogue.pushPattern('pattern_external_agent_processing', { agent: step.target });
  }
}

interface Run {
  readonly mode: Call['mode'];
  readonly metadata: Call['metadata'];
}

function runOf(dialogue: Dialogue, { agent, frame }: CallPrediction): Run {
  if (agent === undefined) {
    const previous = previousRun(dialogue, frame);
    return previous?.state === 'interrupted'
      ? { mode: 'resume', metadata: previous.metadata }
      : { mode: 'start', metadata: {} };
  }
  const { metadata } = agent;
  // The user cancelled the interruption, so an interrupted agent gets its answer.
  const isAnswered = agent.state === 'interrupted' && dialogue.facts.forAgent;
  if (agent.state === 'waiting_for_input' || isAnswered) {
    return { mode: 'continue', metadata };
  }
  return { mode: agent.state === 'restarting' ? 'restart' : 'resume', metadata };
}

/** Assigns the context id of a new run of an agent with contexts, so that the log can refer to it. */
function withContext(dialogue: Dialogue, { handler, step, frame }: CallPrediction, run: Run): Run {
  const isStart = run.mode === 'start' || run.mode === 'restart';
  const { context_id: known } = run.metadata;
  if (handler.hasContexts !== true || !isStart || known !== undefined) return run;
  const context_id = newContextId(dialogue, [frame.flowId, step.id, step.target]);
  return { ...run, metadata: { ...run.metadata, context_id } };
}

function previousRun(dialogue: Dialogue, frame: FlowFrame): AgentRun | undefined {
  const root = activeSegment(dialogue.tracker.stack)?.root ?? frame;
  const path = pathTo(dialogue);
  return root.agents?.findLast((one) => isSamePath(one.path, path));
}

function pathTo(dialogue: Dialogue): readonly string[] {
  const segment = activeSegment(dialogue.tracker.stack);
  return segment === undefined ? [] : callChain(segment).map((frame) => frame.stepId);
}

function announce(dialogue: Dialogue, { agent, frame, step }: CallPrediction, run: Run): void {
  const { tracker } = dialogue;
  if (run.mode === 'start' || run.mode === 'restart') {
    const contextId = run.metadata['context_id'] ?? null;
    tracker.apply(agentEvent('started', frame.flowId, step.target, { context_id: contextId }));
  } else if (agent?.state === 'interrupted' || (agent === undefined && run.mode === 'resume')) {
    tracker.apply(agentEvent('resumed', frame.flowId, step.target));
  }
}

/** Clears the slots of `exit_if`, which a restarted agent fills again. */
function forgetFormerRun(dialogue: Dialogue, { step }: CallPrediction, { mode }: Run): void {
  const { tracker, domain, facts } = dialogue;
  if (mode !== 'restart' && !(mode === 'start' && tracker.state.agents.includes(step.target)))
    return;
  for (const condition of step.exitIf ?? []) {
    for (const name of compileCondition(condition).references.slots) {
      const initial = domain.slots.get(name)?.initialValue ?? null;
      // Slots that the current message filled are kept.
      if (facts.filled.has(name) || tracker.slot(name) === initial) continue;
      tracker.apply(slotSet(name, initial));
    }
  }
}

const agentCalls = traced({
  span: 'invoke_agent',
  subject: 'gen_ai.agent.name',
  label: 'sub_agent',
  calls: 'legate.sub_agent.calls',
  duration: 'legate.sub_agent.duration',
});

async function outcomeOf(
  dialogue: Dialogue,
  { handler, step, frame }: CallPrediction,
  run: Run,
): Promise<CallOutcome> {
  const { options, tracker } = dialogue;
  const flow = dialogue.flows.get(frame.flowId);
  if (flow === undefined) return { status: 'failed', reason: `no flow ${frame.flowId}` };
  const call: Call = {
    ...run,
    isCorrection: dialogue.facts.patterns.some(({ flowId }) => flowId === 'pattern_correction'),
    step,
    flow,
    ...dialogue.context,
    userMessage: options.userMessage,
    transcript: tracker.state.transcript,
    say: (message) => dialogue.say(message, { agent_id: step.target }),
    stream: async (piece) => options.onChunk(piece),
    isStreamed: options.isStreamed === true,
    onPrompt: (note) => dialogue.notePrompt(note),
  };
  try {
    return await dialogue.journal.once({
      name: `call ${step.mcpServer ?? ''} ${step.target}`,
      schema: callOutcome,
      isRepeatable: () => handler.isRepeatable?.(step) ?? false,
      run: async (journal) => {
        const journaled = { ...call, journal };
        // Calls of MCP tools are traced by their connection.
        if (handler.kind === 'tool') return handler.run(journaled);
        return agentCalls(step.target, () => handler.run(journaled), {
          kind: handler.hasContexts === true ? 'client' : 'internal',
          attributes: {
            'gen_ai.conversation.id': tracker.state.senderId,
            'legate.call.mode': run.mode,
          },
          signal: options.signal,
          failureOf: ({ status }) => (status === 'failed' ? 'agent_failed' : undefined),
        });
      },
    });
  } catch (error) {
    options.signal.throwIfAborted();
    if (error instanceof OutcomeUnknown) {
      options.logger.warn({ target: step.target }, 'assistant.outcome_unknown');
      const told = await dialogue.write('utter_outcome_unknown', { target: step.target });
      return { status: 'failed', reason: error.message, messages: [told] };
    }
    options.logger.error({ target: step.target, error }, 'call.failed');
    return { status: 'failed', reason: 'the call handler failed' };
  }
}

function dropAgent(
  dialogue: Dialogue,
  { agent, frame, step }: CallPrediction,
  reason: string,
): void {
  if (agent !== undefined) {
    dialogue.tracker.setStack(removeFrames(dialogue.tracker.stack, [agent]));
  }
  dialogue.tracker.apply(agentEvent('cancelled', frame.flowId, step.target, { reason }));
}

function completeAgent(
  dialogue: Dialogue,
  { agent, frame, step }: CallPrediction,
  metadata: AgentFrame['metadata'],
): void {
  const { tracker } = dialogue;
  if (agent !== undefined) tracker.setStack(removeFrames(tracker.stack, [agent]));
  tracker.apply(agentEvent('completed', frame.flowId, step.target, { status: 'completed' }));
  rememberRun(dialogue, {
    agentId: step.target,
    path: pathTo(dialogue),
    state: 'completed',
    metadata,
  });
}

function keepAgent(
  dialogue: Dialogue,
  { agent, frame, step }: CallPrediction,
  metadata: AgentFrame['metadata'],
): void {
  const waiting: AgentFrame = {
    type: 'agent',
    frameId: agent?.frameId ?? dialogue.tracker.newFrameId(),
    flowId: frame.flowId,
    stepId: step.id,
    agentId: step.target,
    state: 'waiting_for_input',
    metadata,
  };
  if (agent === undefined) dialogue.push(waiting);
  else dialogue.replace(waiting);
}

/**
 * The id of a new remote context, as a UUID. A retried turn gets the same id, so that the remote agent
 * recognizes duplicates. Each start within a turn gets a different one.
 */
function newContextId({ tracker }: Dialogue, place: readonly string[]): string {
  const { events, state } = tracker;
  const messageId = events.findLast(({ event }) => event === 'user')?.['message_id'] ?? null;
  const starts = events.filter(({ event }) => event === 'agent_started').length;
  const identity = JSON.stringify([state.senderId, messageId, starts, ...place]);
  const digits = hash('sha256', identity, 'hex');
  // UUID version 8 is for custom ids.
  const parts = [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `a${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ];
  return parts.join('-');
}
