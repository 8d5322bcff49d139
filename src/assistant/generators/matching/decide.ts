import type { Command, Flow } from '../../model.ts';
import type { Message } from '../words/index.ts';
import { agentTurn } from './agent-turn.ts';
import { findAnswer, freeAnswer, otherFills } from './answers.ts';
import { typedButton } from './buttons.ts';
import { findCorrections } from './corrections.ts';
import { type Fill, fillUnasked } from './fill.ts';
import { findNames } from './names.ts';
import { ordinalOf, patternAnswer } from './pattern-answers.ts';
import {
  afterCancel,
  cancelledThing,
  isOpenQuestion,
  isQuestion,
  isUnsure,
  opensAsRequest,
  steeringOf,
} from './phrases.ts';
import type { Request } from './requests.ts';
import { setSlot, startFlow, type Turn } from './turn.ts';
import { afterYesNo, isBareYesNo, readYesNo } from './values/index.ts';

type Step = (turn: Turn) => readonly Command[] | undefined;

/** In the order of their right of way: the first that understands the message decides. */
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
  filledOthers,
  unclear,
  asked,
  unsure,
  freeAnswer,
];

/** What a message asks for, in commands. */
export function decide(turn: Turn): readonly Command[] {
  if (turn.message.tokens.length === 0 && !/\p{Emoji}/u.test(turn.message.text)) {
    return turn.asked?.kind === 'free' && turn.message.text !== ''
      ? [setSlot(turn.asked, turn.message.text)]
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

/** A question that accepts nothing but its answer. */
function forced(turn: Turn): readonly Command[] | undefined {
  const question = turn.asked;
  const isForced = turn.input.activeCollect?.step.forceSlotFilling === true;
  if (question === undefined || !isForced) return undefined;
  const isText = question.slot.type === 'text' || question.slot.type === 'any';
  const found = isText ? undefined : findAnswer(turn, turn.message);
  return (found ?? [setSlot(question, turn.message.text)]).slice(0, 1);
}

function byButton(turn: Turn): readonly Command[] | undefined {
  const meant = typedButton(turn);
  return meant === undefined ? undefined : decide(turn.with(meant, { transcript: [] }));
}

/** "The second one" of the flows that were offered. */
function byPlace(turn: Turn): readonly Command[] | undefined {
  const { message, offers } = turn;
  const isChoice = /\b(?:first|second|third|last|[123]|one|two|three)\b/.test(message.folded);
  if (offers.length === 0 || !isChoice || message.tokens.length > 4) return undefined;
  const flow = offers[ordinalOf(message.folded, offers.length) ?? -1];
  return flow === undefined ? undefined : [startFlow(flow)];
}

/** "Never mind", and "stop that, show my balance". */
function cancelled(turn: Turn): readonly Command[] | undefined {
  const { message, input } = turn;
  if (input.activeFlow === undefined) return undefined;
  const afterwards = afterCancel(message);
  if (afterwards === undefined) {
    return isCancelOf(turn, input.activeFlow) ? [{ command: 'cancel flow' }] : undefined;
  }
  const next = afterwards.tokens.length === 0 ? [] : requestedIn(turn, afterwards);
  return [{ command: 'cancel flow' }, ...next];
}

/** "Cancel the transfer" in the transfer, unless cancelling is what some flow does. */
function isCancelOf(turn: Turn, flow: Flow): boolean {
  const thing = cancelledThing(turn.message);
  const words = thing?.tokens.filter((token) => token.isContent) ?? [];
  if (words.length === 0) return false;
  const { requested } = turn;
  const others = requested.kind === 'start' ? requested.requests : [];
  if (others.some((request) => !turn.isActive(request.flow))) return false;
  const ofFlow = turn.ownWords(flow);
  return words.every((word) => ofFlow.has(word.stem));
}

/** Fixed wordings; a flow that says the same comes first. */
function steered(turn: Turn): readonly Command[] | undefined {
  const steering = steeringOf(turn.message);
  if (steering === undefined) return undefined;
  // "No thanks" is an answer before it is politeness.
  const isAnswer = turn.asked?.kind === 'yes-no' && isBareYesNo(turn.message);
  if (isAnswer && readYesNo(turn.message) !== undefined) return undefined;
  const { requested } = turn;
  const isFlow =
    requested.kind === 'start' &&
    requested.requests.some(({ candidate }) => candidate.isExact || candidate.phraseCoverage > 0.8);
  if (isFlow) return undefined;
  switch (steering) {
    case 'repeat':
      return [{ command: 'repeat bot messages' }];
    case 'restart':
      return [{ command: 'restart' }];
    case 'handoff':
      return [{ command: 'human handoff' }];
    case 'chitchat':
      return [{ command: 'chitchat' }];
    case 'skip':
      return turn.asked === undefined ? undefined : [{ command: 'skip question' }];
  }
}

/** A request for another flow, and what the rest of the message answers. */
function requestedElsewhere(turn: Turn): readonly Command[] | undefined {
  const { requested } = turn;
  if (requested.kind !== 'start') return undefined;
  const others = requested.requests.filter(({ flow }) => !turn.isActive(flow));
  if (others.length === 0 || !others.every((request) => isSure(turn, request))) return undefined;
  const question = turn.asked;
  const rest = turn.beside(others);
  const answer =
    question === undefined || rest.tokens.length === 0 ? undefined : findAnswer(turn, rest);
  // "Yes, show my balance" to "anything else?" is the request alone.
  const kept = turn.isPatternQuestion ? [] : (answer ?? []);
  return [...kept, ...startAll(turn, others, kept.length === 0)];
}

/** Where text is expected, a few words in common are not enough to leave the question. */
function isSure(turn: Turn, { candidate, part }: Request): boolean {
  const { asked: question, message } = turn;
  if (question === undefined || candidate.isExact) return true;
  const isLike = (least: number): boolean => candidate.confidence >= least;
  switch (question.kind) {
    case 'free':
      return isLike(0.9) && candidate.phraseCoverage >= 0.8;
    case 'name':
      return isLike(0.75) && (candidate.matched > 1 || opensAsRequest(part) || isQuestion(part));
    case 'yes-no':
      return !isBareYesNo(message);
    case 'category':
    case 'number':
      return isLike(0.75) || findAnswer(turn, message) === undefined;
    default:
      return isLike(0.7);
  }
}

/** With their slots; one request alone has the whole message for them. */
function startAll(
  turn: Turn,
  requests: readonly Pick<Request, 'flow' | 'part'>[],
  hasAll: boolean,
): Command[] {
  return requests.flatMap((request) => {
    const part = hasAll && requests.length === 1 ? turn.message : request.part;
    const fills = fillsOf(turn, request.flow, part);
    return [startFlow(request.flow), ...fills.map((fill) => setSlot(fill.profile, fill.value))];
  });
}

function fillsOf(turn: Turn, flow: Flow, part: Message): Fill[] {
  const profiles = turn.profilesOf(flow).filter((profile) => profile.kind !== 'yes-no');
  return fillUnasked(turn.read(part), profiles, { byCapitals: true });
}

/** The flows that a part of the message asks for, with their slots. */
function requestedIn(turn: Turn, part: Message): Command[] {
  const requested = turn.requestsIn(part);
  if (requested.kind === 'unclear') {
    return [{ command: 'clarify', options: requested.flows.map((flow) => flow.id) }];
  }
  return requested.kind === 'nothing' ? [] : startAll(turn.with(part), requested.requests, true);
}

/** The answer to the question, by its form. */
function answered(turn: Turn): readonly Command[] | undefined {
  const { asked: question, message } = turn;
  if (question === undefined) return undefined;
  // A question is answered with a question only when it names a value.
  if (isOpenQuestion(message) && question.kind !== 'category') return undefined;
  return findAnswer(turn, message);
}

/** Values for other slots of the flow: "60 euros" when asked to confirm. */
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
  // Where text is asked for, a short answer is that text, and nothing is corrected by the way.
  if (turn.message.tokens.length <= 2) return undefined;
  return fills.filter(
    (one) => one.command === 'set slot' && (turn.input.slots[one.name] ?? null) === null,
  );
}

/** Several flows are meant alike. */
function unclear(turn: Turn): readonly Command[] | undefined {
  const { requested, asked: question, message } = turn;
  if (requested.kind !== 'unclear') return undefined;
  const isText = question?.kind === 'free' || question?.kind === 'name';
  if (isText && !opensAsRequest(message) && !isQuestion(message)) return undefined;
  const chosen = turn.offered(requested.flows) ?? bestFilled(turn, requested.flows);
  if (chosen !== undefined) return startAll(turn, [chosen], true);
  const options = requested.flows.filter((flow) => !turn.isActive(flow)).map((flow) => flow.id);
  return options.length === 0 ? undefined : [{ command: 'clarify', options }];
}

/** "Send 2 kg to Bob, standard": of flows that are meant alike, the one whose slots it fills most. */
function bestFilled(
  turn: Turn,
  flows: readonly Flow[],
): Pick<Request, 'flow' | 'part'> | undefined {
  const counted = flows
    .map((flow) => ({ flow, fills: fillsOf(turn, flow, turn.message).length }))
    .toSorted((one, two) => two.fills - one.fills);
  const [best, second] = counted;
  if (best === undefined || turn.isActive(best.flow)) return undefined;
  return best.fills > (second?.fills ?? 0) ? { flow: best.flow, part: turn.message } : undefined;
}

/** "No idea" is no answer. */
function unsure(turn: Turn): readonly Command[] | undefined {
  return turn.asked?.kind !== 'free' && isUnsure(turn.message) ? cannotHandle : undefined;
}

/** Questions that no flow answers are for the knowledge base. */
function asked(turn: Turn): readonly Command[] | undefined {
  const { asked: question, message } = turn;
  if (!isQuestion(message) || afterYesNo(message) !== undefined) return undefined;
  // "Can I send it to Bob?" answers to whom.
  const isAnswer =
    question?.kind === 'name' &&
    !isOpenQuestion(message) &&
    findNames(message, question.prepositions, []).length > 0;
  const isQuestionWanted = question?.kind === 'free' && /question|query/.test(question.slot.name);
  return isAnswer || isQuestionWanted ? undefined : [{ command: 'knowledge answer' }];
}
