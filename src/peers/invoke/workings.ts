import type { Caller } from '../../agents/index.ts';
import { LegateError } from '../../protocol/index.ts';
import type { Replica } from '../../store/index.ts';
import type { Scheduler } from '../../tasks/index.ts';
import type { Logger } from '../../telemetry/index.ts';
import type { KeyedQueue } from '../../time/index.ts';
import type { WorkingMemory } from '../memory/index.ts';
import type { TrustLedger } from '../trust/index.ts';
import type { Conversations } from './conversations.ts';
import type { Deadlines } from './deadlines.ts';
import type { Invocation, PeerTransport } from './invocation.ts';
import type { InvocationStore } from './invocation-store.ts';
import type { InvokeTelemetry } from './invoke-telemetry.ts';
import type { Watchers } from './watchers.ts';

/** What the parts of the invoker share. */
export interface Workings {
  readonly store: InvocationStore;
  readonly transports: readonly PeerTransport[];
  readonly memory: (caller: Caller) => WorkingMemory;
  readonly trust: TrustLedger | undefined;
  readonly conversations: Conversations;
  readonly telemetry: InvokeTelemetry;
  readonly lanes: KeyedQueue;
  readonly deadlines: Deadlines;
  readonly watchers: Watchers;
  readonly replica: Replica;
  readonly scheduler: Scheduler;
  readonly logger: Logger;
  /** Aborts when the invoker stops. */
  readonly closing: AbortSignal;
  /** Milliseconds. */
  readonly askTimeoutMs: number;
  readonly resultTtlMs: number;
  readonly maxInputRequiredRounds: number;
  readonly repetitionThreshold: number;
}

export function transportOf({ transports }: Workings, { reach, agent }: Invocation): PeerTransport {
  const found = transports.find((each) => each.reach === reach);
  if (found !== undefined) return found;
  throw new LegateError(
    'PEER_UNREACHABLE',
    `there is no way (${reach}) to reach ${agent} any more`,
  );
}

/** Sends the message of an invocation in state `sending`. */
export async function sendMessage(workings: Workings, invocation: Invocation): Promise<Invocation> {
  const { telemetry } = workings;
  workings.deadlines.set(invocation);
  const transport = transportOf(workings, invocation);
  await telemetry.within(invocation, () => transport.send(invocation));
  const sent = await workings.store.change(invocation.id, (current) =>
    current.state === 'sending' && current.message.messageId === invocation.message.messageId
      ? { ...current, state: 'working' }
      : undefined,
  );
  return sent?.invocation ?? invocation;
}

/** Pauses before the peer is told again, in milliseconds. After the last one, a restart tells it. */
const cancelPausesMs = [1_000, 5_000, 30_000, 120_000, 600_000] as const;

/**
 * The peer need not go on. One that cannot be told now is told later, by this process or the next;
 * that is no reason to fail.
 */
export async function cancelRemote(
  workings: Workings,
  invocation: Invocation,
  attempt = 0,
): Promise<void> {
  const { store, scheduler, logger, closing } = workings;
  const { id, agent } = invocation;
  try {
    const transport = transportOf(workings, invocation);
    await workings.telemetry.within(invocation, () => transport.cancel(invocation));
    await store.change(id, ({ mustCancel, ...rest }) => (mustCancel === true ? rest : undefined));
  } catch (error) {
    logger.warn({ invocation: id, agent, error }, 'peers.cancel.failed');
    const pause = cancelPausesMs[attempt];
    if (pause === undefined || closing.aborted) return;
    const timer = scheduler.after(pause, () => {
      closing.removeEventListener('abort', forget);
      void cancelRemote(workings, invocation, attempt + 1);
    });
    const forget = (): void => timer.cancel();
    closing.addEventListener('abort', forget, { once: true });
  }
}
