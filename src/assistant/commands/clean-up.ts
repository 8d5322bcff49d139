import type { JsonValue } from '../../protocol/index.ts';
import type { Command, Extractor, StackFrame } from '../conversation.ts';
import type { Domain, Flow } from '../model.ts';
import type { ActiveCollect, AgentsView } from './generator.ts';
import { judgeFlowCommand, judgeSetSlot } from './judge.ts';

/** The context in which commands are checked: the conversation before the turn, and the project. */
export interface Situation {
  readonly stack: readonly StackFrame[];
  readonly slots: Readonly<Record<string, JsonValue>>;
  filledBy(slot: string): Extractor | undefined;
  readonly domain: Domain;
  readonly flows: ReadonlyMap<string, Flow>;
  /** Ids of the flows whose guards hold. */
  readonly startable: ReadonlySet<string>;
  readonly collect: ActiveCollect | undefined;
  readonly agents: AgentsView;
  /** Whether the project has documents to search. */
  readonly hasKnowledge: boolean;
}

export interface CleanUpOptions {
  /** The message is a payload: guards are ignored, and it always counts as understood. @default false */
  readonly isPayload?: boolean;
  /** Asks the user to choose if several flows would start while none is active. @default false */
  readonly clarifyOnMultipleStartFlows?: boolean;
}

/**
 * The result of checking one command: a command to execute, or the reason to drop it. `satisfied`: it
 * would change nothing. `impossible`: it can't be executed.
 */
export type Verdict = Command | 'satisfied' | 'impossible';

/** Facts about the other commands of the message. */
export interface Companions {
  readonly isPayload: boolean;
  readonly isCancelling: boolean;
  /** Flows that start with this message. */
  readonly starting: ReadonlySet<string>;
  /** Slots that a rule-based extractor filled in this message. It takes precedence over a model. */
  readonly extracted: ReadonlySet<string>;
}

/**
 * Cleans up the commands of a generator: drops impossible, redundant and duplicate commands, and makes
 * the rest executable. Pure.
 */
export function cleanUp(
  commands: readonly Command[],
  situation: Situation,
  { isPayload = false, clarifyOnMultipleStartFlows = false }: CleanUpOptions = {},
): readonly Command[] {
  const error = commands.find((one) => one.command === 'error');
  const said = commands.filter((one) => !isSeed(one));
  const admitted = error === undefined ? admit(said, situation) : [error];
  const isCancelling = admitted.some((one) => one.command === 'cancel flow');
  const alone: Companions = {
    isPayload,
    isCancelling,
    starting: new Set(),
    extracted: new Set(slotsSetBy(admitted, 'nlu')),
  };
  const flowVerdicts = admitted.map((one) => judgeFlowCommand(one, situation, alone));
  const companions = { ...alone, starting: new Set(flowVerdicts.flatMap(startedFlow)) };
  const judge = (verdict: Verdict): Verdict =>
    typeof verdict === 'object' && verdict.command === 'set slot'
      ? judgeSetSlot(verdict, situation, companions)
      : verdict;
  const verdicts = flowVerdicts.map(judge);
  const seeds = kept(admit(commands.filter(isSeed), situation).map(judge));
  const clean = strongest(mergeCorrections(withoutDuplicates(kept(verdicts))), situation, {
    clarifyOnMultipleStartFlows,
  });
  const forAgent = withAgent(clean, situation, isPayload);
  // A message whose commands are all satisfied was understood, although no command is left.
  const isUnderstood = isPayload || (said.length > 0 && !verdicts.includes('impossible'));
  const own = forAgent.length > 0 || isUnderstood ? forAgent : [notUnderstood];
  return withSeeds(seeds, own, situation);
}

const notUnderstood: Command = { command: 'cannot handle', reason: 'cannot_handle_default' };

/** Whether an orchestrator sets the slot: such a command isn't part of the user's message. */
function isSeed(command: Command): boolean {
  return command.command === 'set slot' && command.by === 'orchestrator';
}

function kept(verdicts: readonly Verdict[]): readonly Command[] {
  return verdicts.filter((verdict) => typeof verdict === 'object');
}

/** Adds the slots of an orchestrator. If they answer the open question, the message counts as understood. */
function withSeeds(
  seeds: readonly Command[],
  commands: readonly Command[],
  { collect }: Situation,
): readonly Command[] {
  const isAnswered = seeds.some(
    (one) => one.command === 'set slot' && one.name === collect?.slot.name,
  );
  const rest = isAnswered ? commands.filter((one) => one.command !== 'cannot handle') : commands;
  return mergeCorrections([...seeds, ...rest]);
}

/** With `force_slot_filling`, only commands that fill the slot are kept. */
function admit(commands: readonly Command[], { collect }: Situation): readonly Command[] {
  if (collect?.step.forceSlotFilling !== true) return commands;
  return commands.filter(
    (one) => isAboutSession(one) || (one.command === 'set slot' && one.name === collect.step.slot),
  );
}

function isAboutSession({ command }: Command): boolean {
  return ['session start', 'session end', 'restart', 'user silence'].includes(command);
}

function slotsSetBy(commands: readonly Command[], by: Extractor): readonly string[] {
  return commands.flatMap((one) => (one.command === 'set slot' && one.by === by ? [one.name] : []));
}

function startedFlow(verdict: Verdict): readonly string[] {
  return typeof verdict === 'object' && verdict.command === 'start flow' ? [verdict.flow] : [];
}

/** Keeps the last of several values for one slot, and one of equal commands. */
function withoutDuplicates(commands: readonly Command[]): readonly Command[] {
  const last = new Map<string, Command>();
  for (const one of commands) {
    last.set(one.command === 'set slot' ? `slot ${one.name}` : JSON.stringify(one), one);
  }
  return [...last.values()];
}

/** Merges all corrections of a message into one command. */
function mergeCorrections(commands: readonly Command[]): readonly Command[] {
  const corrections = commands.filter((one) => one.command === 'correct slots');
  const [first] = corrections;
  if (first === undefined) return commands;
  const merged: Command = {
    command: 'correct slots',
    slots: Object.fromEntries(corrections.flatMap((one) => Object.entries(one.slots))),
  };
  const others = commands.filter((one) => one.command !== 'correct slots');
  return [merged, ...others];
}

/** Keeps clarifications and `cannot handle` only when there is no other command. */
function strongest(
  commands: readonly Command[],
  { stack, flows }: Situation,
  options: { readonly clarifyOnMultipleStartFlows: boolean },
): readonly Command[] {
  const strong = commands.filter((one) => !isWeak(one));
  const starts = strong.flatMap((one) => (one.command === 'start flow' ? [one.flow] : []));
  const isIdle = !stack.some((frame) => frame.type === 'flow' && flows.has(frame.flowId));
  if (options.clarifyOnMultipleStartFlows && isIdle && starts.length > 1) {
    return [{ command: 'clarify', options: starts }];
  }
  if (strong.length > 0) return strong;
  const clarify = commands.find((one) => one.command === 'clarify');
  return clarify === undefined ? commands.slice(0, 1) : [clarify];
}

/** Whether other commands replace the command. A report of an unclear value stays beside other commands. */
function isWeak(one: Command): boolean {
  if (one.command !== 'cannot handle') return one.command === 'clarify';
  return one.reason !== 'cannot_handle_unclear_value';
}

/** Commands that leave the message to a waiting agent. */
const besideAgent = new Set<Command['command']>(['set slot', 'cannot handle', 'continue agent']);

/** Routes a message to the waiting agent unless it asks for something else. */
function withAgent(
  commands: readonly Command[],
  { agents }: Situation,
  isPayload: boolean,
): readonly Command[] {
  if (agents.active === undefined) return commands;
  if (!commands.every((one) => besideAgent.has(one.command))) {
    return commands.filter((one) => one.command !== 'continue agent');
  }
  if (isPayload && commands.length === 0) return commands;
  const slots = commands.filter((one) => one.command === 'set slot');
  return [...slots, { command: 'continue agent' }];
}
