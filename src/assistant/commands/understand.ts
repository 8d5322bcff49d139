import type { JsonObject } from '../../protocol/index.ts';
import type { Dialogue } from '../executor/index.ts';
import type { Command } from '../command.ts';
import type { Flow } from '../model.ts';
import { type PromptNote, promptJson } from '../prompt-note.ts';
import { activeSegment, flowIds } from '../stack/index.ts';
import type { CommandGenerator, GeneratorInput } from './generator.ts';
import { isFilledByText } from './mappings.ts';
import { type Intent, readSpecial } from './special.ts';
import { activeCollect, activeFlows, agentsView } from './view.ts';

export interface UnderstandOptions {
  readonly generator: CommandGenerator;
  /** What a user may say at once. */
  readonly maxCharacters: number;
  /** Flows whose guards hold. */
  readonly startable: readonly Flow[];
}

export interface Understanding {
  readonly commands: readonly Command[];
  /** The message was made by a button or a program, not by a person. */
  readonly isPayload: boolean;
  /** When the message named one. */
  readonly intent?: Intent;
  /** Ids of the flows that a model was told of. */
  readonly flowsInPrompt?: readonly string[];
  /** What models were asked, as the log keeps it. */
  readonly prompts?: readonly JsonObject[];
}

/** Payloads carry names and values and may be longer than what people say. */
export const MAX_PAYLOAD_CHARACTERS = 4_096;

/** The log tells which flows a model was shown, not all of a large project. */
const MAX_FLOWS_NOTED = 50;

/** A generator asks once or twice. */
const MAX_PROMPTS_NOTED = 4;

/** Characters of a prompt that the log keeps. */
const MAX_PROMPT_NOTED = 24_000;

/** The commands of a message, as they come: by its form, or by the generator. */
export async function understand(
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
    const prompts: JsonObject[] = [];
    const onPrompt = (note: PromptNote): void => {
      if (prompts.length < MAX_PROMPTS_NOTED) prompts.push(promptJson(note, MAX_PROMPT_NOTED));
    };
    const generated = await generate(dialogue, { ...message, text, onFlows, onPrompt }, options);
    const commands = withTypedAnswer(dialogue, text, generated, active);
    return {
      commands,
      isPayload: false,
      ...(flowsInPrompt !== undefined && { flowsInPrompt }),
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

/** Commands of a generator that leave room for the message to be an answer as it stands. */
const besideAnswer = new Set<Command['command']>(['set slot', 'cannot handle', 'clarify']);

/** A question whose slot is mapped `from_text` takes what is typed, unless it means something else. */
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
  message: Pick<GeneratorInput, 'text' | 'metadata' | 'onFlows' | 'onPrompt'>,
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
    language: typeof language === 'string' ? language : undefined,
    signal: options.signal,
    clock: options.clock,
  });
}
