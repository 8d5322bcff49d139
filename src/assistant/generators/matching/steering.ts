import { present } from '../../../config/index.ts';
import type { Command } from '../../command.ts';
import type { Flow } from '../../model.ts';
import { smallTalkTopic } from '../../small-talk/index.ts';
import { synonymsOf } from '../words/index.ts';
import { findAnswer } from './answers.ts';
import { afterCancel, cancelledThing, steeringOf } from './phrases.ts';
import { requestedIn } from './starting.ts';
import type { Turn } from './turn.ts';
import { isBareYesNo, readYesNo } from './values/index.ts';

/** "Never mind", and "stop that, show my balance". */
export function cancelled(turn: Turn): readonly Command[] | undefined {
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
  return words.every(
    ({ stem }) => ofFlow.has(stem) || synonymsOf(stem).some((other) => ofFlow.has(other)),
  );
}

/** Fixed wordings; a flow that says the same comes first. */
export function steered(turn: Turn): readonly Command[] | undefined {
  const steering = steeringOf(turn.message);
  if (steering === undefined) return undefined;
  // "No thanks" is an answer before it is politeness.
  const isAnswer =
    (turn.asked?.kind === 'yes-no' || turn.asked?.kind === 'free') && isBareYesNo(turn.message);
  if (isAnswer && readYesNo(turn.message) !== undefined) return undefined;
  // "Start" may be one of the choices that were offered.
  const isChoice = turn.asked?.kind === 'category' && findAnswer(turn, turn.message) !== undefined;
  if (steering === 'chitchat' && isChoice) return undefined;
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
      return [{ command: 'chitchat', ...present({ topic: smallTalkTopic(turn.message.text) }) }];
    case 'skip':
      return turn.asked === undefined ? undefined : [{ command: 'skip question' }];
  }
}
