import { present } from '../../../config/index.ts';
import type { Command } from '../../conversation.ts';
import type { Flow } from '../../model.ts';
import { topicOfFlow } from '../../small-talk/small-talk.ts';
import type { Candidate } from '../candidate.ts';
import { type Message, messageOf } from '../words/words.ts';
import { findAnswer } from './answers.ts';
import { findCorrections } from './corrections.ts';
import {
  afterCancel,
  cancelledThing,
  clausesOf,
  isQuestion,
  opensAsRequest,
  steeringOf,
} from './phrases.ts';
import { requestedIn } from './starting.ts';
import { setSlot, startFlow, type Turn } from './turn.ts';
import { isBareYesNo, readYesNo } from './values/yes-no.ts';

/**
 * "Never mind", and "stop that, show my balance": the rest of the message starts another flow only if it
 * is a request by itself.
 */
export function cancelled(turn: Turn): readonly Command[] | undefined {
  const { message, input } = turn;
  const { activeFlow } = input;
  if (activeFlow === undefined) return undefined;
  const afterwards = afterCancel(message);
  if (afterwards === undefined) {
    return isCancelOf(turn, activeFlow) ? [{ command: 'cancel flow' }] : undefined;
  }
  // If the question asks for a story, the story can mention a cancellation.
  const isStory = turn.asked?.kind === 'free' && !opensWithCancel(message);
  if (isStory) return undefined;
  const corrections = findCorrections(turn);
  // "I changed my mind, make it 50" continues.
  if (corrections !== undefined && /\bchanged (?:my|our) minds?\b/.test(message.folded)) {
    return corrections;
  }
  const isRequest = afterwards.tokens.length > 0 && isRequestByItself(afterwards);
  return [
    { command: 'cancel flow' },
    ...(isRequest ? requestedIn(turn, afterwards, (flow) => !turn.isActive(flow)) : []),
  ];
}

function opensWithCancel(message: Message): boolean {
  const [first] = clausesOf(message);
  return first !== undefined && afterCancel(first) !== undefined;
}

/** Whether a part asks a question or starts with a request; "we'll eat at home" does not. */
function isRequestByItself(part: Message): boolean {
  if (opensAsRequest(part) || isQuestion(part)) return true;
  const { generic, weak, synonyms } = part.language;
  const first = part.tokens[0]?.stem ?? '';
  const isVerb = generic.has(first) || weak.has(first) || synonyms.has(first);
  return isVerb || /^(?:my|the|a|an|new)\b/.test(part.folded);
}

/** "Cancel the transfer" during the transfer, unless another flow does the cancelling. */
function isCancelOf(turn: Turn, flow: Flow): boolean {
  const { requested } = turn;
  const others = requested.kind === 'start' ? requested.requests : [];
  if (others.some((request) => !turn.isActive(request.flow))) return false;
  const ofFlow = turn.ownWords(flow);
  return clausesOf(turn.message).some((clause) => {
    const words = cancelledThing(clause)?.tokens.filter((token) => token.isContent) ?? [];
    if (words.length === 0) return false;
    return words.every(
      ({ stem }) =>
        ofFlow.has(stem) ||
        (turn.message.language.synonyms.get(stem) ?? []).some((other) => ofFlow.has(other)),
    );
  });
}

/** Fixed phrases. A flow with the same phrase takes precedence. */
export function steered(turn: Turn): readonly Command[] | undefined {
  const topic = turn.smallTalk;
  const steering =
    steeringOf(turn.message) ??
    steeringOf(turn.corrected) ??
    (topic === undefined ? undefined : 'chitchat');
  if (steering === undefined) return undefined;
  // "No thanks" is an answer first, and only then politeness.
  const isAnswer =
    (turn.asked?.kind === 'yes-no' && topic === 'reaction') ||
    ((turn.asked?.kind === 'yes-no' || turn.asked?.kind === 'free') && isBareYesNo(turn.message));
  if (isAnswer && readYesNo(turn.message) !== undefined) return undefined;
  // "Start" can be one of the offered values.
  const isChoice = turn.asked?.kind === 'category' && findAnswer(turn, turn.message) !== undefined;
  if (steering === 'chitchat' && (isChoice || isValue(turn, topic))) return undefined;
  const { requested } = turn;
  // "Come again?" is a fixed phrase, even if flows of the project have the word "come".
  const isVague = steering === 'chitchat' || /\bsome(?:one|body)\b/.test(turn.message.folded);
  const isLiteral = ({ isTopical, explained, matched }: Candidate): boolean =>
    isTopical &&
    (steering !== 'handoff' || matched > 1) &&
    (isVague || explained.every(({ by, isTopic }) => !isTopic || by === 'word'));
  const isFlow =
    requested.kind === 'start' &&
    requested.requests.some(
      ({ candidate }) =>
        candidate.isExact || (isLiteral(candidate) && candidate.phraseCoverage > 0.8),
    );
  if (isFlow) return undefined;
  switch (steering) {
    case 'repeat':
      return [{ command: 'repeat bot messages' }];
    case 'restart':
      return [{ command: 'restart' }];
    case 'handoff':
      return [{ command: 'human handoff' }];
    case 'chitchat':
      return chat(turn, topic);
    case 'skip':
      return turn.asked === undefined ? undefined : [{ command: 'skip question' }];
  }
}

function chat(turn: Turn, topic: string | undefined): readonly Command[] {
  const own = stepBack(turn, topic) ?? ownFlow(turn, topic);
  return own ?? [{ command: 'chitchat', ...present({ topic }) }];
}

/**
 * "Go back" in a flow clears the last value, so that it is asked again. At the first question it cancels
 * the flow.
 */
function stepBack(turn: Turn, topic: string | undefined): readonly Command[] | undefined {
  if (topic !== 'cancel' || turn.input.activeFlow === undefined) return undefined;
  const last = turn.filled.findLast((profile) => profile.slot.name !== turn.asked?.slot.name);
  return last === undefined || turn.isPatternQuestion
    ? [{ command: 'cancel flow' }]
    : [setSlot(last, null)];
}

/** The project's own flow for a topic, unless another flow is active. */
function ownFlow({ input }: Turn, topic: string | undefined): readonly Command[] | undefined {
  if (topic === undefined || input.stack.some(({ type }) => type === 'flow')) return undefined;
  const flow = input.flows.find((one) => topicOfFlow(one) === topic);
  return flow && [startFlow(flow)];
}

/** Whether small talk is a value: praise answers a question for text, and "morning" is a time. */
function isValue({ asked, isPatternQuestion, message }: Turn, topic: string | undefined): boolean {
  if (asked === undefined || isPatternQuestion) return false;
  if (asked.kind === 'free') return topic === 'praise' || topic === 'complaint';
  return /^(?:morning|afternoon|evening)\b/.test(message.folded);
}

const again =
  /\b(?:again|redo|restart|rerun|repeat|change|different|another|go back|start over|new)\b/;

/**
 * While an agent waits for the user, it gets all messages except clear requests for something else: to
 * cancel, to talk to a human, to restart an earlier agent, or to start another flow.
 */
export function agentTurn(turn: Turn): readonly Command[] | undefined {
  const { message, input } = turn;
  const restarted = restartedAgent(message, input.agents.completed);
  if (input.agents.active === undefined) return restarted;
  const afterwards = afterCancel(message);
  if (afterwards !== undefined) {
    return [{ command: 'cancel flow' }, ...startsIn(turn, afterwards)];
  }
  if (steeringOf(message) === 'handoff') return [{ command: 'human handoff' }];
  if (restarted !== undefined) return restarted;
  const starts = startsIn(turn, message);
  return starts.length > 0 ? starts : [{ command: 'continue agent' }];
}

function startsIn(turn: Turn, message: Message): Command[] {
  if (message.tokens.length === 0) return [];
  const requested = turn.requestsIn(message);
  if (requested.kind !== 'start') return [];
  return requested.requests
    .filter(({ flow, candidate }) => {
      const isSure =
        candidate.isExact || (candidate.confidence >= 0.75 && candidate.phraseCoverage >= 0.6);
      return isSure && !turn.isActive(flow);
    })
    .map(({ flow }) => startFlow(flow));
}

/** "search for flights again": restarts a completed agent, found by the words of its name. */
function restartedAgent(message: Message, completed: readonly string[]): Command[] | undefined {
  if (completed.length === 0 || !again.test(message.folded)) return undefined;
  const said = new Set(
    message.tokens.filter((token) => token.isContent).map((token) => token.stem),
  );
  const named = completed.filter((agent) =>
    messageOf(agent.replaceAll(/[_-]+/g, ' '), message.language).tokens.some((word) =>
      said.has(word.stem),
    ),
  );
  const only = named.length === 1 ? named[0] : undefined;
  return only === undefined ? undefined : [{ command: 'restart agent', agent: only }];
}
