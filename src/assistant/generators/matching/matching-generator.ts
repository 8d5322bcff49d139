import { invalidConfiguration } from '../../../protocol/index.ts';
import type { Command } from '../../conversation.ts';
import type { CommandGenerator } from '../../commands/generator.ts';
import { findAnswer, freeAnswer, otherFills } from './answers.ts';
import { findCorrections } from './corrections.ts';
import { explainedCandidates } from './explain.ts';
import { findNames } from './names.ts';
import { patternAnswer, typedButton } from './pattern-answers.ts';
import { isOpenQuestion, isQuestion, isUnsure } from './phrases.ts';
import { byPlace, notStarted, requestedElsewhere, unclear } from './starting.ts';
import { agentTurn, cancelled, steered } from './steering.ts';
import { type MatchingOptions, setSlot, Turn, unclearValue } from './turn.ts';
import { afterYesNo } from './values/yes-no.ts';

/**
 * The generator without a model. It interprets messages by words, value formats and fixed phrases. The
 * same message in the same conversation always gives the same commands.
 *
 * It can: start flows by the words of their names, descriptions and `examples`, with synonyms and typos;
 * offer a flow if the user asks how to do something; ask which of up to three flows is meant; start
 * several flows from one sentence; fill the asked slot and others of the same sentence; cancel, correct,
 * repeat, skip, restart, hand over, chat; pass questions to the knowledge base, and messages to an agent
 * that waits.
 *
 * It can't read languages other than English and German, resolve pronouns ("send him 5"), or understand
 * sarcasm, wishes that share no word with a flow, and negations inside longer sentences. Such messages
 * end in `cannot handle`. docs/guides/matching-generator.md explains how to write flows for it.
 * @example const generator = matchingGenerator({ timeZone: 'Europe/Berlin' })
 */
export function matchingGenerator(options: MatchingOptions = {}): CommandGenerator {
  checkTimeZone(options.timeZone);
  return {
    name: 'matching',
    async generate(input) {
      const turn = new Turn(input, options);
      const commands = decide(turn).map((command) => asTyped(turn, command));
      input.onCandidates?.(explainedCandidates(turn, commands));
      return commands;
    },
  };
}

/** Restores the typed text of a value if the message was read through an English gloss. */
function asTyped({ message, input }: Turn, command: Command): Command {
  if (message.typedOf === undefined || command.command !== 'set slot') return command;
  const { value, name } = command;
  const isListed = input.domain.slots.get(name)?.values?.includes(value) === true;
  if (typeof value !== 'string' || isListed) return command;
  return { ...command, value: message.typedOf(value) };
}

function checkTimeZone(timeZone: string | undefined): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions();
  } catch (cause) {
    throw invalidConfiguration(
      `timezone "${timeZone}" is unknown; use an IANA name such as Europe/Berlin`,
      cause,
    );
  }
}

type Step = (turn: Turn) => readonly Command[] | undefined;

/** In order of precedence: the first step that returns commands decides. */
const steps: readonly Step[] = [
  forced,
  agentTurn,
  byButton,
  byPlace,
  patternAnswer,
  cancelled,
  steered,
  findCorrections,
  requestedElsewhere,
  answered,
  unclearNumber,
  filledOthers,
  unclear,
  notStarted,
  asked,
  unsure,
  freeAnswer,
];

/** Converts a message to commands. */
function decide(turn: Turn): readonly Command[] {
  if (turn.message.tokens.length === 0 && !/\p{Emoji}/u.test(turn.message.text)) {
    return turn.asked?.kind === 'free' && turn.message.text !== ''
      ? [setSlot(turn.asked, turn.verbatim)]
      : cannotHandle;
  }
  for (const step of steps) {
    const commands = step(turn);
    if (commands !== undefined && commands.length > 0) return commands;
  }
  return cannotHandle;
}

const cannotHandle: readonly Command[] = [
  { command: 'cannot handle', reason: 'cannot_handle_default' },
];

/** A question with `force_slot_filling`: the message is always its answer. */
function forced(turn: Turn): readonly Command[] | undefined {
  const question = turn.asked;
  const isForced = turn.input.activeCollect?.step.forceSlotFilling === true;
  if (question === undefined || !isForced) return undefined;
  const isText = question.slot.type === 'text' || question.slot.type === 'any';
  const found = isText ? undefined : findAnswer(turn, turn.message);
  return (found ?? [setSlot(question, turn.verbatim)]).slice(0, 1);
}

function byButton(turn: Turn): readonly Command[] | undefined {
  const meant = typedButton(turn);
  if (meant === undefined || !('tokens' in meant)) return meant;
  return decide(turn.with(meant, { transcript: [] }));
}

/** The answer to the question, by its format. */
function answered(turn: Turn): readonly Command[] | undefined {
  const { asked: question, message } = turn;
  if (question === undefined) return undefined;
  // A question in reply is an answer only if it names a value.
  const isWhyNot = question.kind === 'yes-no' && /\bwhy not\b/.test(message.folded);
  if (isOpenQuestion(message) && question.kind !== 'category' && !isWhyNot) return undefined;
  return findAnswer(turn, message);
}

/** "10.000", or "50 dollars" in a project with euros: asks instead of guessing. */
function unclearNumber(turn: Turn): readonly Command[] | undefined {
  const info = turn.asked === undefined ? undefined : turn.read().unclearNumber(turn.asked);
  if (info === undefined) return undefined;
  return [unclearValue(info)];
}

/** Values for other slots of the flow: "60 euros" in reply to a confirmation question. */
function filledOthers(turn: Turn): readonly Command[] | undefined {
  if (turn.profiles.length === 0 || isQuestion(turn.message)) return undefined;
  if (turn.asked?.kind === 'name' || turn.asked?.kind === 'free') return undefined;
  if (
    turn.isPatternQuestion &&
    turn.asked?.slot.name !== 'continue_interrupted_flow_confirmation'
  ) {
    return undefined;
  }
  const fills = otherFills(turn, turn.read());
  const isText = turn.asked?.slot.type === 'text' || turn.asked?.slot.type === 'any';
  if (!isText) return fills;
  // If the question expects text, a short message is that text, and filled slots are not corrected.
  if (turn.message.tokens.length <= 2) return undefined;
  return fills.filter(
    (one) => one.command === 'set slot' && (turn.input.slots[one.name] ?? null) === null,
  );
}

/** "No idea" is not an answer. "Ok" without a question is small talk. */
function unsure(turn: Turn): readonly Command[] | undefined {
  if (
    turn.asked === undefined &&
    /^(?:ok|okay|okey|k|alright|all right)[.!\s]*$/.test(turn.message.folded)
  ) {
    return [{ command: 'chitchat', topic: 'reaction' }];
  }
  return turn.asked?.kind !== 'free' && isUnsure(turn.message) ? cannotHandle : undefined;
}

/** Passes questions that no flow answers to the knowledge base. */
function asked(turn: Turn): readonly Command[] | undefined {
  const { asked: question, message } = turn;
  if (!isQuestion(message) || afterYesNo(message) !== undefined) return undefined;
  // "Can I send it to Bob?" answers "to whom?".
  const isAnswer =
    question?.kind === 'name' &&
    !isOpenQuestion(message) &&
    findNames(message, question.prepositions, []).length > 0;
  const isQuestionWanted = question?.kind === 'free' && /question|query/.test(question.slot.name);
  return isAnswer || isQuestionWanted ? undefined : [{ command: 'knowledge answer' }];
}
