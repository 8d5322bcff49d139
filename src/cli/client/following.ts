import { type StreamEvent, TaskView } from '../../client/index.ts';
import {
  isInterrupted,
  LegateError,
  type SendMessageResponse,
  type StreamResponse,
  type Task,
} from '../../protocol/index.ts';

/**
 * Reads events until the task is terminal or waits for its caller, and returns the result.
 * `isAnswer`: the message continued a task, whose first snapshot may still show the question.
 * `awaitsAuthorization`: a task in auth-required continues by itself once the user authorized it.
 */
export async function follow(
  events: AsyncIterable<StreamEvent>,
  options: {
    readonly isAnswer?: boolean;
    readonly awaitsAuthorization?: boolean;
    readonly onEvent: (response: StreamResponse, task: TaskView | undefined) => void;
  },
): Promise<SendMessageResponse> {
  let view: TaskView | undefined;
  let result: SendMessageResponse | undefined;
  let isFirst = true;
  for await (const { response } of events) {
    if ('message' in response && view === undefined) result = response;
    else if (view === undefined) view = new TaskView(firstTask(response));
    else view.apply(response);
    options.onEvent(response, view);
    const isOldQuestion = isFirst && options.isAnswer === true && 'task' in response;
    isFirst = false;
    const state = view?.status.state;
    const goesOn = options.awaitsAuthorization === true && state === 'TASK_STATE_AUTH_REQUIRED';
    // Reads the stream of a terminal task to its end.
    if (state !== undefined && isInterrupted(state) && !isOldQuestion && !goesOn) break;
  }
  if (view !== undefined) return { task: view.toTask() };
  if (result !== undefined) return result;
  throw new LegateError('PEER_INVALID', 'the agent answered with neither a task nor a message');
}

/** Streams start with the task. For streams that don't, creates the task from the first event. */
function firstTask(response: StreamResponse): Task {
  if ('task' in response) return response.task;
  if ('statusUpdate' in response) {
    const { taskId: id, contextId, status } = response.statusUpdate;
    return { id, contextId, status };
  }
  if ('artifactUpdate' in response) {
    const { taskId: id, contextId, artifact } = response.artifactUpdate;
    return { id, contextId, status: { state: 'TASK_STATE_UNSPECIFIED' }, artifacts: [artifact] };
  }
  throw new LegateError(
    'PEER_INVALID',
    'the stream of the agent started with neither a task nor an event',
  );
}
