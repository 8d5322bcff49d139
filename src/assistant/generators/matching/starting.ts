import type { Command } from '../../conversation.ts';
import type { Flow } from '../../model.ts';
import type { Message } from '../words/words.ts';
import { findAnswer } from './answers.ts';
import { isChangeWord } from './corrections.ts';
import { choiceByPlace } from './pattern-answers.ts';
import { isQuestion, opensAsRequest } from './phrases.ts';
import type { Request } from './requests.ts';
import type { SlotProfile } from './slot-profile.ts';
import { setSlot, startFlow, type Turn, unclearValue } from './turn.ts';
import { isBareYesNo, readYesNo } from './values/yes-no.ts';

/** "The second one": chooses among the offered flows. */
export function byPlace(turn: Turn): readonly Command[] | undefined {
  const { message, offers } = turn;
  // "Yes" accepts the only offered flow.
  const said = offers.length === 1 && turn.asked === undefined ? readYesNo(message) : undefined;
  if (said === false && isBareYesNo(message)) return [{ command: 'chitchat', topic: 'reaction' }];
  const only = said === true && isBareYesNo(message) ? 0 : undefined;
  const flow = offers[only ?? choiceByPlace(message, offers.length) ?? -1];
  return flow === undefined ? undefined : [startFlow(flow)];
}

/** A request for another flow, plus the answer in the rest of the message. */
export function requestedElsewhere(turn: Turn): readonly Command[] | undefined {
  const { requested } = turn;
  if (requested.kind !== 'start') return undefined;
  const others = requested.requests.filter(({ flow }) => !turn.isActive(flow));
  if (others.length === 0 || isBareChange(turn)) return undefined;
  if (!others.every((request) => isSure(turn, request))) return undefined;
  const question = turn.asked;
  const rest = turn.beside(others);
  const answer =
    question === undefined || rest.tokens.length === 0 ? undefined : findAnswer(turn, rest);
  // "Yes, show my balance" to "anything else?" is only the request.
  const kept = turn.isPatternQuestion ? [] : (answer ?? []);
  return [...kept, ...startAll(turn, others, kept.length === 0)];
}

/** During a flow, "change it" refers to the flow's own values. */
function isBareChange(turn: Turn): boolean {
  const words = turn.message.tokens.filter((token) => token.isContent);
  return (
    turn.filled.length > 0 && words.length > 0 && words.every((word) => isChangeWord(word.folded))
  );
}

/** During another flow: the minimum share of a flow's phrase that a single word must cover. */
const leastSaid = 0.4;

/**
 * Whether a request is certain enough to leave the question: if text is expected, a few common words are
 * not.
 */
function isSure(turn: Turn, request: Request): boolean {
  const { candidate, part } = request;
  const { asked: question, message } = turn;
  if (question === undefined) return true;
  // If the question asks for a story, "I cannot send money" is part of it.
  const isStory =
    question.kind === 'free' && /\b(?:cannot|can't|couldn't|unable|not|n't)\b/.test(part.folded);
  if (question.kind === 'category' && namesOnly(turn, question)) return false;
  if (candidate.isExact) return !isStory;
  if (isMereWord(turn, request)) return false;
  // "Send it" answers the question, even if another flow sends something.
  if (!candidate.isTopical && readYesNo(message) !== undefined) return false;
  const isLike = (least: number): boolean => candidate.confidence >= least;
  switch (question.kind) {
    case 'free':
      return (
        isLike(0.9) && candidate.phraseCoverage >= 0.8 && (opensAsRequest(part) || isQuestion(part))
      );
    case 'name':
      return isLike(0.75) && (candidate.matched > 1 || opensAsRequest(part) || isQuestion(part));
    case 'yes-no':
      return !isBareYesNo(message);
    case 'category': {
      const words = message.tokens.filter((token) => token.isContent);
      const isShort = message.tokens.length <= 3 || words.length === 1;
      const isAnswer = isShort && findAnswer(turn, message) !== undefined;
      return !isAnswer && (isLike(0.75) || findAnswer(turn, message) === undefined);
    }
    case 'number':
      return isLike(0.75) || findAnswer(turn, message) === undefined;
    default:
      return isLike(0.7);
  }
}

/**
 * Whether the request has only one word of a longer phrase: "in person", if a flow sends money to another
 * person.
 */
function isMereWord(turn: Turn, { candidate, flow, part }: Request): boolean {
  if (candidate.matched > 1 || candidate.phraseCoverage >= leastSaid) return false;
  const isAsking = opensAsRequest(part) || isQuestion(part) || turn.isPatternQuestion;
  return !isAsking && turn.fillsOf(flow, part).length === 0;
}

/** "Visa" to "which card?": a synonym of the slot, not a request. */
function namesOnly({ message, index }: Turn, { names }: SlotProfile): boolean {
  const words = message.tokens.filter((token) => token.isContent);
  return (
    words.length > 0 &&
    message.tokens.length <= 4 &&
    words.every(
      ({ stem }) => names.has(stem) || index.synonymsOf(stem).some((other) => names.has(other)),
    )
  );
}

/** Asks which flow is meant if several match equally well. */
export function unclear(turn: Turn): readonly Command[] | undefined {
  const { requested, asked: question, message } = turn;
  if (requested.kind !== 'unclear') return undefined;
  if (question?.kind === 'category' && namesOnly(turn, question)) return undefined;
  const isText = question?.kind === 'free' || question?.kind === 'name';
  if (isText && !opensAsRequest(message) && !isQuestion(message)) return undefined;
  if (isBareChange(turn)) return undefined;
  const chosen = turn.offered(requested.flows) ?? bestFilled(turn, requested.flows);
  if (chosen !== undefined) return startAll(turn, [chosen], true);
  const options = requested.flows.filter((flow) => !turn.isActive(flow)).map((flow) => flow.id);
  return options.length === 0 ? undefined : [{ command: 'clarify', options }];
}

/** A flow that doesn't start: its guard is false, or the user asks how it works. */
export function notStarted(turn: Turn): readonly Command[] | undefined {
  const { requested } = turn;
  if (turn.asked !== undefined && !turn.isPatternQuestion) return undefined;
  if (requested.kind === 'guarded') {
    return [
      { command: 'cannot handle', reason: 'cannot_handle_not_available', flow: requested.flow.id },
    ];
  }
  if (requested.kind !== 'offer' || turn.hasKnowledge) return undefined;
  return [{ command: 'clarify', options: [requested.flow.id], isOffer: true }];
}

/** "Send 2 kg to Bob, standard": among equal flows, the one with the most slots that the message fills. */
function bestFilled(
  turn: Turn,
  flows: readonly Flow[],
): Pick<Request, 'flow' | 'part'> | undefined {
  const counted = flows
    .map((flow) => ({ flow, fills: turn.fillsOf(flow, turn.message).length }))
    .toSorted((one, two) => two.fills - one.fills);
  const [best, second] = counted;
  if (best === undefined || turn.isActive(best.flow)) return undefined;
  return best.fills > (second?.fills ?? 0) ? { flow: best.flow, part: turn.message } : undefined;
}

/** Commands for the wanted flows that a part of the message requests, with their slots. */
export function requestedIn(
  turn: Turn,
  part: Message,
  isWanted: (flow: Flow) => boolean,
): Command[] {
  const requested = turn.requestsIn(part);
  if (requested.kind === 'unclear') {
    const options = requested.flows.filter(isWanted).map((flow) => flow.id);
    return options.length === 0 ? [] : [{ command: 'clarify', options }];
  }
  if (requested.kind !== 'start') return [];
  const requests = requested.requests.filter(({ flow }) => isWanted(flow));
  return startAll(turn.with(part), requests, true);
}

/** Starts flows and fills their slots. A single request gets its values from the whole message. */
function startAll(
  turn: Turn,
  requests: readonly Pick<Request, 'flow' | 'part' | 'isApart'>[],
  hasAll: boolean,
): Command[] {
  return requests.flatMap((request) => {
    const isOnly = hasAll && requests.length === 1 && request.isApart !== true;
    const part = isOnly ? turn.message : request.part;
    const fills = turn.fillsOf(request.flow, part);
    const sets = fills.map((fill) => setSlot(fill.profile, fill.value));
    return [startFlow(request.flow), ...sets, ...unclearIn(turn, request.flow, part)];
  });
}

/**
 * "Send 10.000 to Bob": reports the ambiguous number, so that the question for the amount explains
 * itself.
 */
function unclearIn(turn: Turn, flow: Flow, part: Message): Command[] {
  const [numbers, ...others] = turn.profilesOf(flow).filter(({ kind }) => kind === 'number');
  if (numbers === undefined || others.length > 0) return [];
  const info = turn.read(part).unclearNumber(numbers);
  return info === undefined ? [] : [unclearValue(info)];
}
