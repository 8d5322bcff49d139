import {
  type Client,
  clientTransport,
  readResumePoint,
  RemoteTask,
  type RemoteTaskOptions,
  type ResumePoint,
} from '../../client/index.ts';
import { type JsonObject, LegateError, type SendMessageRequest } from '../../protocol/index.ts';
import type { Turn, TurnEnd, TurnEvent } from '../agent.ts';
import { failure, handsOver, isPause } from '../drive.ts';
import type { Step } from '../steps/step.ts';
import { SavedTasks } from '../stored.ts';
import { digestId } from '../../store/index.ts';
import { RemoteSteps, withoutSteps } from './remote-steps.ts';
import { endOf, turnEvents } from './remote-turn.ts';

export interface RemoteTurn {
  /** The name of the agent in texts and logs. */
  readonly name: string;
  /** Distinguishes the messages of several remote agents in one turn. Stable across reruns. */
  readonly sender: string;
  readonly turn: Turn;
  readonly waits: Required<
    Pick<RemoteTaskOptions, 'timeoutMs' | 'inactivityTimeoutMs' | 'cancelTimeoutMs'>
  >;
  readonly limits: RemoteTaskOptions['limits'];
}

/** Saved state of a conversation with a remote agent: its context id there, and the waiting tasks. */
interface RemoteState {
  readonly contextId: string | undefined;
  readonly tasks: SavedTasks<ResumePoint>;
}

const format = { decode: readResumePoint, encode: (value: ResumePoint) => ({ value }) };
/** The journal key of the remote task, for a turn that runs again. */
const journalKey = 'task';

/** One turn of a remote agent. */
export async function* remoteEvents(
  remote: RemoteTurn & { readonly client: Client },
): AsyncGenerator<TurnEvent> {
  const { turn, name, client, waits, limits } = remote;
  const state = await loadState(turn);
  const stopped = state.tasks.take(turn.taskId);
  const answered = turn.isContinuation ? stopped : undefined;
  const request = toRequest(remote, state, answered);
  const { messageId, contextId } = request.message;
  /** Used if the process that sent the message died before it could journal the task. */
  const sent: ResumePoint = {
    v: 2,
    state: 'sending',
    messageId,
    ...(contextId !== undefined && { contextId }),
    delivered: {},
  };
  const remoteTask = (taskId: string | undefined): NonNullable<Step['remote']> => ({
    url: client.interface.url,
    ...(taskId !== undefined && { taskId }),
  });
  const step = turn.steps?.start({ kind: 'agent', name, remote: remoteTask(answered?.taskId) });
  const task = new RemoteTask({
    ...waits,
    limits,
    transport: clientTransport(client),
    request,
    point: (await journaled(turn)) ?? answered ?? (turn.attempt > 1 ? sent : undefined),
    resends: true,
    signal: turn.signal,
    handsOver,
    save: async (point) => {
      step?.change({ remote: remoteTask(point.taskId) });
      if (point.state === 'working') await turn.journal?.write(journalKey, point);
    },
    onCancelFailed: cancelFailed(remote),
  });
  try {
    const end = endOf(name, yield* turnEvents(task, step && new RemoteSteps(step)));
    const { point } = task;
    if (end.kind !== 'message' && isPause(end)) state.tasks.stop(turn.taskId, point);
    step?.end({ remote: remoteTask(point.taskId), state: stateOf(end.kind) });
    const metadata: JsonObject = {
      ...withoutSteps(end.metadata),
      ...(point.taskId !== undefined && { remote_task_id: point.taskId }),
    };
    const value = toValue({ ...state, contextId: point.contextId ?? state.contextId });
    const { metadata: _, ...said } = end;
    yield { ...said, ...(Object.keys(metadata).length > 0 && { metadata }), context: { value } };
  } catch (error) {
    turn.signal.throwIfAborted();
    turn.logger.warn({ peer: name, error }, 'agents.remote.failed');
    const code = error instanceof LegateError ? error.code.toLowerCase() : 'peer_invalid';
    const type = task.expired ?? code;
    step?.end({ state: 'failed', detail: type });
    const end = failure(type, `The agent ${name} ${explanations[type] ?? 'failed'}.`);
    yield { ...end, error, context: { value: toValue(state) } };
  }
}

/** Cancels the remote task that waits for an answer, or that was started by a turn whose process died. */
export async function abandonRemote(
  remote: RemoteTurn & { readonly connect: () => Promise<Client> },
): Promise<Omit<TurnEnd, 'kind'> | undefined> {
  const { turn, waits } = remote;
  const state = await loadState(turn);
  const known = state.tasks.take(turn.taskId) ?? (await journaled(turn));
  if (known === undefined && turn.attempt === 1) return undefined;
  try {
    const transport = clientTransport(await remote.connect());
    const { message } = toRequest(remote, state);
    await transport.cancel(known ?? message, { timeoutMs: waits.cancelTimeoutMs });
  } catch (error) {
    cancelFailed(remote)(error);
  }
  return { context: { value: toValue(state) } };
}

function toRequest(
  { turn, sender }: RemoteTurn,
  { contextId }: RemoteState,
  answered?: ResumePoint,
): SendMessageRequest {
  const { acceptedOutputModes, metadata, message } = turn;
  return {
    message: {
      messageId: messageIdOf(turn, sender),
      role: 'ROLE_USER',
      parts: message.parts,
      ...(contextId !== undefined && { contextId }),
      ...(answered?.taskId !== undefined && { taskId: answered.taskId }),
      ...(message.metadata !== undefined && { metadata: message.metadata }),
    },
    ...(acceptedOutputModes.length > 0 && { configuration: { acceptedOutputModes } }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

async function loadState({ state }: Turn): Promise<RemoteState> {
  const { contextId, tasks } = (await state.load()) ?? {};
  return {
    contextId: typeof contextId === 'string' ? contextId : undefined,
    tasks: new SavedTasks(format, tasks),
  };
}

function toValue({ contextId, tasks }: RemoteState): JsonObject {
  return { ...(contextId !== undefined && { contextId }), ...tasks.toValue('tasks') };
}

async function journaled({ journal }: Turn): Promise<ResumePoint | undefined> {
  return readResumePoint(await journal?.read(journalKey));
}

function cancelFailed({ turn, name }: RemoteTurn): (error: unknown) => void {
  return (error) => turn.logger.warn({ peer: name, error }, 'agents.remote.cancel_failed');
}

/**
 * A message id that is the same when the turn runs again, so that the remote agent deduplicates the
 * message.
 */
function messageIdOf({ taskId, message }: Turn, sender: string): string {
  return digestId(sender, taskId, message.messageId);
}

/** The state of the step for the end of an agent's run. */
function stateOf(kind: TurnEnd['kind'] | 'message'): Step['state'] {
  if (kind === 'message' || kind === 'completed') return 'done';
  return isPause({ kind }) ? 'paused' : 'failed';
}

const explanations: Readonly<Record<string, string>> = {
  timeout: 'took too long',
  inactivity: 'sent no event in time',
  unauthenticated: 'refused our credentials',
  permission_denied: 'refused our credentials',
  peer_unreachable: 'could not be reached',
  unavailable: 'could not be reached',
  rate_limited: 'is rate-limited',
};
