import type { Command } from '../../command.ts';
import { type Message, messageOf } from '../words/index.ts';
import { afterCancel, steeringOf } from './phrases.ts';
import { startFlow, type Turn } from './turn.ts';

const again =
  /\b(?:again|redo|restart|rerun|repeat|change|different|another|go back|start over|new)\b/;

/**
 * While an agent waits for the user it gets every message, but for what is clearly about something
 * else: cancelling, a human, an earlier agent, another flow said in so many words.
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

/** "search for flights again": an agent that ended, by the words of its name. */
function restartedAgent(message: Message, completed: readonly string[]): Command[] | undefined {
  if (completed.length === 0 || !again.test(message.folded)) return undefined;
  const said = new Set(
    message.tokens.filter((token) => token.isContent).map((token) => token.stem),
  );
  const named = completed.filter((agent) =>
    messageOf(agent.replaceAll(/[_-]+/g, ' ')).tokens.some((word) => said.has(word.stem)),
  );
  const only = named.length === 1 ? named[0] : undefined;
  return only === undefined ? undefined : [{ command: 'restart agent', agent: only }];
}
