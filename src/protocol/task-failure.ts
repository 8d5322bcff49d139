import { textOf } from './content.ts';
import { codeOfErrorType, LegateError } from './errors.ts';
import { isJsonObject } from './json.ts';
import type { JsonObject, JsonValue, Task } from './model.ts';

/**
 * The error of a task that did not complete, with the text of its agent, and the code and delay from its
 * `error_type` and `retry_after`.
 * @example if (isTerminal(task.status.state)) throw taskFailure(task);
 */
export function taskFailure({ id: taskId, status, metadata }: Task): LegateError {
  const state = status.state.replace('TASK_STATE_', '').toLowerCase();
  const { parts = [], metadata: ofMessage } = status.message ?? {};
  const details = parts.map((part) => part.data).find(isJsonObject);
  const sources = [ofMessage, details, metadata];
  const type = valueIn(sources, 'error_type');
  const errorType = typeof type === 'string' ? type : '';
  const seconds = valueIn(sources, 'retry_after');
  const text = textOf({ parts });
  return new LegateError(
    codeOfErrorType(errorType),
    text === '' ? `the agent's task ended as ${state}` : text,
    {
      metadata: { taskId, state, ...(errorType !== '' && { errorType }) },
      ...(typeof seconds === 'number' && seconds >= 0 && { retryAfter: seconds }),
    },
  );
}

function valueIn(
  sources: readonly (JsonObject | undefined)[],
  name: string,
): JsonValue | undefined {
  return sources.find((source) => source?.[name] !== undefined)?.[name];
}
