import type { RemoteTask } from '../../client/index.ts';
import type { Artifact, SendMessageResponse, TaskState } from '../../protocol/index.ts';
import { type RemoteSteps, withoutSteps } from './remote-steps.ts';
import type { ArtifactChunk, EndKind, Reply, TurnEnd, Working } from '../agent.ts';

const ends: Partial<Record<TaskState, EndKind>> = {
  TASK_STATE_COMPLETED: 'completed',
  TASK_STATE_CANCELED: 'canceled',
  TASK_STATE_REJECTED: 'rejected',
  TASK_STATE_INPUT_REQUIRED: 'input-required',
  TASK_STATE_AUTH_REQUIRED: 'auth-required',
};

/** Yields the events of a remote task as turn events, and returns its answer or its question. */
export async function* turnEvents(
  task: RemoteTask,
  /** Records the steps that the agent shares. Our callers get them as our steps, if they request steps. */
  steps?: RemoteSteps,
): AsyncGenerator<Artifact | ArtifactChunk | Working, SendMessageResponse> {
  for await (const event of task.events()) {
    if (event.kind === 'end') return event.response;
    if (event.kind === 'question') return { task: event.task };
    if (event.kind === 'chunk') yield relayed(event);
    else if (event.kind === 'progress') {
      const { parts } = event;
      steps?.note(event.metadata);
      const metadata = withoutSteps(event.metadata);
      const isStep = event.metadata !== undefined && metadata === undefined && parts.length === 0;
      if (isStep) continue;
      yield { kind: 'working', ...(parts.length > 0 && { parts }), ...(metadata && { metadata }) };
    }
  }
  throw new Error('the events of the remote task ended without a result');
}

/**
 * A remote artifact that is complete is not complete here: another agent of the same turn can have an
 * artifact with the same id. Our turn completes what it has streamed.
 */
function relayed(chunk: ArtifactChunk): Artifact | ArtifactChunk {
  if (!chunk.lastChunk) return chunk;
  return chunk.append ? { ...chunk, lastChunk: false } : chunk.artifact;
}

/** The end of our turn for the response of the remote agent. */
export function endOf(name: string, response: SendMessageResponse): TurnEnd | Reply {
  if ('message' in response) {
    const { parts, metadata } = response.message;
    return { kind: 'message', parts, ...(metadata !== undefined && { metadata }) };
  }
  const { status, metadata: ofTask } = response.task;
  const kind = ends[status.state] ?? 'failed';
  const given = status.message?.parts ?? [];
  const explanation = explanations[kind];
  const parts =
    explanation && given.length === 0 ? [{ text: `The agent ${name} ${explanation}.` }] : given;
  const metadata = { ...ofTask, ...status.message?.metadata };
  return {
    kind,
    ...(parts.length > 0 && { parts }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}

const explanations: Partial<Record<EndKind, string>> = {
  failed: 'failed',
  rejected: 'rejected the request',
  'input-required': 'waits for an answer',
  'auth-required': 'waits for an answer',
};
