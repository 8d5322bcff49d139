import {
  type Agent,
  EventChannel,
  handsOver,
  type ProgressEvent,
  type Turn,
  type TurnEvent,
  turnWith,
} from '../../agents/index.ts';
import { askingUsers } from '../invoke/asking-users.ts';
import type { Invoker } from '../invoke/invoker.ts';
import type { PeerNetwork } from '../network/join-peers.ts';
import { wrapAgent } from '../wrap-agent.ts';
import { TurnPeerCalls } from './turn-peer-calls.ts';

/**
 * Gives the turns of an agent its peers: `turn.peers`, and tools for its models. Calls that a task
 * leaves open when it ends are cancelled.
 * @example
 * await using network = await joinPeers({ name: 'desk', store, links: [busLink({ bus })] });
 * await using host = await hostOnBus(withPeers(desk, network), { bus, store });
 */
export function withPeers(agent: Agent, network: PeerNetwork): Agent {
  const { invoker } = network;
  const wrapped = wrapAgent(agent, {
    take: (turn) => take(agent, turn, network),
    async abandon(turn) {
      await cancelCalls(turn, invoker);
      return agent.abandon?.(turn);
    },
  });
  return askingUsers(wrapped, () => invoker);
}

async function* take(agent: Agent, turn: Turn, network: PeerNetwork): AsyncGenerator<TurnEvent> {
  const { invoker, started } = network;
  const channel = new EventChannel<ProgressEvent>();
  // A continuation may find calls with open questions.
  let hasCalls = turn.isContinuation;
  const peers = new TurnPeerCalls({
    turn,
    invoker,
    started,
    tools: network.turnTools,
    emit: (progress) => channel.push(progress),
    onCall: () => {
      hasCalls = true;
    },
  });
  const events = agent.take(turnWith(turn, { peers }))[Symbol.asyncIterator]();
  let isPaused = false;
  try {
    for (;;) {
      const next = yield* channel.during(events.next());
      if (next.done === true) return;
      const event = next.value;
      isPaused =
        'kind' in event && (event.kind === 'input-required' || event.kind === 'auth-required');
      yield event;
    }
  } finally {
    await events.return?.();
    const isLeft = !isPaused && !(turn.signal.aborted && handsOver(turn.signal.reason));
    if (hasCalls && isLeft) await cancelCalls(turn, invoker);
  }
}

/** Cancels the calls of a task that nothing waits for any more. */
async function cancelCalls(
  { taskId, contextId, caller, logger }: Turn,
  invoker: Invoker,
): Promise<void> {
  try {
    const open = await invoker.list({ id: contextId, caller });
    for (const { id, origin } of open) if (origin?.taskId === taskId) await invoker.cancel(id);
  } catch (error) {
    // The calls end at their deadlines.
    logger.warn({ error }, 'peers.cancel.failed');
  }
}
