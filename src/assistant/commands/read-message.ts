import type { JsonObject, JsonValue } from '../../protocol/index.ts';
import type { Command } from '../conversation.ts';
import { coerceSlotValue } from '../domain/slot.ts';
import { type Dialogue, startableFlows } from '../executor/dialogue.ts';
import type { Flow } from '../model.ts';
import { promptJson, type PromptNote } from '../prompt-note.ts';
import { activeSegment, flowIds } from '../stack/stack.ts';
import { isEqual } from '../templates/value.ts';
import { cleanUp } from './clean-up.ts';
import type { CommandGenerator, GeneratorInput } from './generator.ts';
import { type Intent, isFilledByText, readSpecial } from './special.ts';
import { activeCollect, activeFlows, agentsView } from './view.ts';

export interface ReadOptions {
  readonly generator: CommandGenerator;
  /** Maximum length of a user message. */
  readonly maxCharacters: number;
  /** Asks the user to choose if several flows would start while none is active. */
  readonly clarifyOnMultipleStartFlows: boolean;
}

export interface IncomingMessage {
  readonly text: string;
  readonly metadata: JsonObject;
  /** Slots that an orchestrator sends along. */
  readonly slots: Readonly<Record<string, JsonValue>>;
}

/** Translates a message to executable commands. */
export async function readMessage(
  dialogue: Dialogue,
  { text, metadata, slots }: IncomingMessage,
  { generator, maxCharacters, clarifyOnMultipleStartFlows }: ReadOptions,
): Promise<Understanding> {
  const { tracker, domain, flows } = dialogue;
  const known = seedsOf(dialogue, slots);
  // Slots of the orchestrator are set before the commands of the message.
  const startable = startableFlows(dialogue, valuesOf(known));
  // An orchestrator can send data without text.
  const isOnlyData = text.trim() === '' && Object.keys(slots).length > 0;
  const understood = isOnlyData
    ? { commands: [], isPayload: true }
    : await understand(dialogue, { text, metadata }, { generator, maxCharacters, startable });
  const situation = {
    stack: tracker.stack,
    slots: tracker.slots,
    filledBy: (name: string) => tracker.filledBy(name),
    domain,
    flows,
    startable: new Set(startable.map((flow) => flow.id)),
    collect: activeCollect(dialogue, tracker.stack),
    agents: agentsView(tracker.stack),
    hasKnowledge: dialogue.options.knowledge !== undefined,
  };
  const { isPayload } = understood;
  const seeds = newSeeds(dialogue, known, understood.commands);
  const commands = cleanUp([...seeds, ...understood.commands], situation, {
    isPayload,
    clarifyOnMultipleStartFlows,
  });
  return { ...understood, commands };
}

function valuesOf(seeds: readonly Seed[]): JsonObject | undefined {
  if (seeds.length === 0) return undefined;
  return Object.fromEntries(seeds.map(({ name, value }) => [name, value]));
}

/** A slot that an orchestrator sends along. */
type Seed = Command & { readonly command: 'set slot' };

/**
 * The slots that came with the message, as commands. An orchestrator acts on behalf of its users, so it
 * can set any slot of the project, including slots that no user can fill. Unknown and built-in slots are
 * ignored. Invalid values are logged and ignored.
 */
function seedsOf(
  { domain, options }: Dialogue,
  slots: Readonly<Record<string, JsonValue>>,
): readonly Seed[] {
  return Object.entries(slots).flatMap(([name, given]): Seed[] => {
    const slot = domain.slots.get(name);
    if (slot === undefined || slot.builtin) return [];
    const isNothing = typeof given === 'string' && /^(none|null|undefined)$/i.test(given.trim());
    const coerced = coerceSlotValue(slot, isNothing ? null : given);
    if (!coerced.ok) {
      options.logger.warn({ slot: name }, 'a2a_server.message_adapter.skip_slot.invalid_value');
      return [];
    }
    return [{ command: 'set slot', name, value: coerced.value, by: 'orchestrator' }];
  });
}

/** The slots with a new value that the user's message doesn't mention. */
function newSeeds(
  { tracker }: Dialogue,
  seeds: readonly Seed[],
  understood: readonly Command[],
): readonly Command[] {
  const said = new Set(understood.flatMap((one) => (one.command === 'set slot' ? [one.name] : [])));
  return seeds.filter(({ name, value }) => !said.has(name) && !isEqual(value, tracker.slot(name)));
}

interface UnderstandOptions {
  readonly generator: CommandGenerator;
  /** Maximum length of a user message. */
  readonly maxCharacters: number;
  /** Flows whose guards hold. */
  readonly startable: readonly Flow[];
}

export interface Understanding {
  readonly commands: readonly Command[];
  /** A button or a program made the message, not a person. */
  readonly isPayload: boolean;
  /** The intent that the message names. */
  readonly intent?: Intent;
  /** Ids of the flows in the prompt of a model. */
  readonly flowsInPrompt?: readonly string[];
  /** The flows that the message was compared with, best first. */
  readonly candidates?: readonly JsonObject[];
  /** The model calls, as the log keeps them. */
  readonly prompts?: readonly JsonObject[];
}

/** Maximum length of payloads: they contain names and values and can be longer than typed messages. */
export const MAX_PAYLOAD_CHARACTERS = 4_096;

/** Maximum number of flow ids in the log. */
const MAX_FLOWS_NOTED = 50;

/** Maximum number of logged prompts; a generator calls a model once or twice. */
const MAX_PROMPTS_NOTED = 4;

/** Characters of a prompt that the log keeps. */
const MAX_PROMPT_NOTED = 24_000;

/** The commands of a message before clean-up: read from a payload, or generated. */
async function understand(
  dialogue: Dialogue,
  message: { readonly text: string; readonly metadata: JsonObject },
  options: UnderstandOptions,
): Promise<Understanding> {
  const said = message.text.trim();
  if (said === '') return failure('rasa_internal_error_user_input_empty');
  const { domain, flows } = dialogue;
  const active = flowsUnderWay(dialogue);
  const special =
    said.length <= MAX_PAYLOAD_CHARACTERS
      ? readSpecial(said, { domain, flows, active })
      : undefined;
  if (special?.kind === 'commands') {
    const { commands, intent } = special;
    return { commands, isPayload: true, ...(intent !== undefined && { intent }) };
  }
  const text = special?.text ?? said;
  if (text.length > options.maxCharacters) {
    const info = { max_characters: options.maxCharacters };
    return failure('rasa_internal_error_user_input_too_long', info);
  }
  try {
    let flowsInPrompt: readonly string[] | undefined;
    const onFlows = (ids: readonly string[]): void => {
      flowsInPrompt = ids.slice(0, MAX_FLOWS_NOTED);
    };
    let candidates: readonly JsonObject[] = [];
    const onCandidates = (compared: readonly JsonObject[]): void => {
      candidates = compared;
    };
    const prompts: JsonObject[] = [];
    const onPrompt = (note: PromptNote): void => {
      if (prompts.length < MAX_PROMPTS_NOTED) prompts.push(promptJson(note, MAX_PROMPT_NOTED));
    };
    const noting = { onFlows, onCandidates, onPrompt };
    const generated = await generate(dialogue, { ...message, text, ...noting }, options);
    const commands = withTypedAnswer(dialogue, text, generated, active);
    return {
      commands,
      isPayload: false,
      ...(flowsInPrompt !== undefined && { flowsInPrompt }),
      ...(candidates.length > 0 && { candidates }),
      ...(prompts.length > 0 && { prompts }),
    };
  } catch (error) {
    const { signal, logger } = dialogue.options;
    signal.throwIfAborted();
    logger.error({ generator: options.generator.name, error }, 'commands.generator_failed');
    return failure('rasa_internal_error_command_generation', { error_source: 'generator' });
  }
}

function flowsUnderWay({ tracker }: Dialogue): ReadonlySet<string> {
  const segment = activeSegment(tracker.stack);
  return new Set(segment === undefined ? [] : flowIds(segment));
}

/** Commands beside which the whole text can be the answer. */
const besideAnswer = new Set<Command['command']>(['set slot', 'cannot handle', 'clarify']);

/** Fills a slot mapped `from_text` with the typed message, unless the message has another meaning. */
function withTypedAnswer(
  dialogue: Dialogue,
  text: string,
  commands: readonly Command[],
  active: ReadonlySet<string>,
): readonly Command[] {
  const slot = activeCollect(dialogue, dialogue.tracker.stack)?.slot;
  if (slot === undefined || !isFilledByText(slot, active)) return commands;
  if (!commands.every((one) => besideAnswer.has(one.command))) return commands;
  const others = commands.filter((one) => one.command === 'set slot' && one.name !== slot.name);
  return [...others, { command: 'set slot', name: slot.name, value: text, by: 'nlu' }];
}

function failure(errorType: string, info: JsonObject = {}): Understanding {
  return { commands: [{ command: 'error', errorType, info }], isPayload: false };
}

function generate(
  dialogue: Dialogue,
  message: Pick<GeneratorInput, 'text' | 'metadata' | 'onFlows' | 'onCandidates' | 'onPrompt'>,
  { generator, startable }: UnderstandOptions,
): Promise<readonly Command[]> {
  const { tracker, options, domain } = dialogue;
  const { active, calling } = activeFlows(dialogue);
  const language = tracker.slot('language');
  return generator.generate({
    ...message,
    channel: options.channel,
    slots: tracker.slots,
    stack: tracker.stack,
    activeFlow: active,
    callingFlow: calling,
    activeCollect: activeCollect(dialogue, tracker.stack),
    transcript: tracker.state.transcript,
    flows: startable,
    allFlows: dialogue.flows,
    domain,
    agents: agentsView(tracker.stack, options.agentDescriptions),
    hasKnowledge: options.knowledge !== undefined,
    language: typeof language === 'string' ? language : undefined,
    signal: options.signal,
    clock: options.clock,
  });
}
