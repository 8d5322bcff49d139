import type { Client } from '../../client/index.ts';
import { type CancelTaskRequest, LegateError, type Task } from '../../protocol/index.ts';
import type { CancelCommandOptions } from '../commands/cancel.ts';
import { calling } from './calling.ts';
import { taskIdOf } from './get.ts';
import { Output } from './output.ts';
import { metadataOf } from './send.ts';

/** Cancels a task, and shows what became of it. */
export async function cancelTask(
  operands: readonly string[],
  options: CancelCommandOptions,
): Promise<void> {
  await calling(options, operands, async (session) => {
    const id = taskIdOf(session);
    const metadata = metadataOf(options.metadata ?? session.choices.setting('metadata'));
    const client = await session.connect();
    const request = { id, ...(metadata !== undefined && { metadata }) };
    const canceling = canceled(client, request, session.signal);
    const { stream: isStream = false } = options;
    new Output(session, { isStream }).task(await session.answered(canceling));
  });
}

/** Asked twice, the second answer is that of the first. */
async function canceled(
  client: Client,
  request: CancelTaskRequest,
  signal: AbortSignal,
): Promise<Task> {
  try {
    return await client.cancelTask(request, { signal });
  } catch (error) {
    if (!(error instanceof LegateError) || error.code !== 'TASK_NOT_CANCELABLE') throw error;
    const task = await client.getTask(request.id, { signal });
    if (task.status.state === 'TASK_STATE_CANCELED') return task;
    throw error;
  }
}
