import type { JsonObject } from '../../../protocol/index.ts';
import type { AgentOutput } from '../model.ts';
import type { PeerProgress } from './peer-progress.ts';

/** Keys of the metadata that are for us alone: the agent is not told of them. */
export const ownKeys: ReadonlySet<string> = new Set(['last_message', 'artifacts', 'task_deadline']);

/**
 * What an agent elsewhere has come to, with what the conversation has to keep of its task: to continue
 * it with the user's answer, or to ask for it later while it is at work (`at_work`). `deadline`, in
 * milliseconds since 1970, is when a task at work is given up.
 */
export function answerOf(
  progress: PeerProgress,
  id: string,
  { last = '', deadline }: { readonly last?: string; readonly deadline?: number | undefined } = {},
): AgentOutput {
  const { contextId, taskId, digests } = progress;
  const place = {
    ...(contextId !== undefined && { context_id: contextId }),
    ...(taskId !== undefined && { task_id: taskId }),
    ...(Object.keys(digests).length > 0 && { artifacts: digests }),
  };
  if (progress.status === undefined) {
    const until = deadline === undefined ? {} : { task_deadline: deadline };
    return { id, status: 'input_required', metadata: { ...place, at_work: true, ...until } };
  }
  const output = progress.output(id);
  if (output.status !== 'input_required') return output;
  const { responseMessage = last } = output;
  const metadata = { ...place, last_message: responseMessage.slice(0, 2_000) };
  return { ...output, ...(responseMessage !== '' && { responseMessage }), metadata };
}

export function taskOf({ task_id: id }: JsonObject): string | undefined {
  return typeof id === 'string' ? id : undefined;
}

export function deadlineOf({ task_deadline: at }: JsonObject): number | undefined {
  return typeof at === 'number' ? at : undefined;
}

export function artifactsOf({ artifacts }: JsonObject): JsonObject {
  const isObject = typeof artifacts === 'object' && artifacts !== null && !Array.isArray(artifacts);
  return isObject ? (artifacts as JsonObject) : {};
}
