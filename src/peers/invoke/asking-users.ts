import {
  type Agent,
  completed,
  failed,
  inputRequired,
  type Turn,
  type TurnEvent,
} from '../../agents/index.ts';
import { isJsonObject, LegateError, type Message } from '../../protocol/index.ts';
import { wrapAgent } from '../wrap-agent.ts';
import { peerMetadata, type PeerNote } from './conversations.ts';
import type { Invocation } from './invocation.ts';
import type { Invoker } from './invoker.ts';

/**
 * Lets an agent's users answer questions of peers: a question becomes a task that waits for its user,
 * and the answer goes to the peer. Other turns go to the agent.
 * @example serve(askingUsers(agent, () => invoker))
 */
export function askingUsers(agent: Agent, invoker: () => Invoker): Agent {
  return wrapAgent(agent, {
    take: (turn) => take(agent, turn, invoker),
    async abandon(turn) {
      const open = await questionOf(turn, invoker());
      if (open === undefined) return agent.abandon?.(turn);
      await invoker().cancel(open.id);
      return undefined;
    },
  });
}

async function* take(agent: Agent, turn: Turn, invoker: () => Invoker): AsyncGenerator<TurnEvent> {
  const open = await questionOf(turn, invoker());
  if (open === undefined) {
    yield* agent.take(turn);
  } else if (!turn.isContinuation) {
    const { id: invocation, agent: asking } = open;
    const metadata = { [peerMetadata]: { kind: 'question', invocation, agent: asking } };
    yield inputRequired(turn.message.parts, { metadata });
  } else {
    yield await forward(open, turn, invoker());
  }
}

async function forward(open: Invocation, turn: Turn, invoker: Invoker): Promise<TurnEvent> {
  try {
    await invoker.answer(open.id, turn.message.parts);
    return completed(`Your answer was sent to agent '${open.agent}'.`);
  } catch (error) {
    if (!(error instanceof LegateError)) throw error;
    return failed(`Your answer could not be sent to agent '${open.agent}': ${error.message}`);
  }
}

/** The invocation whose question a turn is about; only of the turn's own conversation and caller. */
async function questionOf(turn: Turn, invoker: Invoker): Promise<Invocation | undefined> {
  const [first = turn.message] = turn.isContinuation ? await turn.history() : [];
  const note = noteOf(first);
  if (note?.kind !== 'question') return undefined;
  const found = await invoker.find(note.invocation);
  const { tenant, subject } = turn.caller;
  const isOwn =
    found?.session.id === turn.contextId &&
    found.session.caller.tenant === tenant &&
    found.session.caller.subject === subject;
  return isOwn ? found : undefined;
}

function noteOf({ metadata }: Message): Pick<PeerNote, 'kind' | 'invocation'> | undefined {
  const note = metadata?.[peerMetadata];
  if (!isJsonObject(note) || typeof note['invocation'] !== 'string') return undefined;
  const kind = note['kind'] === 'question' ? 'question' : 'result';
  return { kind, invocation: note['invocation'] };
}
