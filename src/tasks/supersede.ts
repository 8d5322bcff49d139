import { appendEnd } from './append-end.ts';
import type { Hub } from './hub.ts';
import type { EngineSettings } from './options.ts';

/**
 * A conversation with one state has one open question: a message that begins a new task answers it
 * as well. The older input-required tasks of the context end as completed and name their successor.
 *
 * Resolves when their ends are on their way to the store, with a promise of their arrival: stores keep
 * the order of writes, so what is written after this comes after them, and a store that gathers
 * writes has one commit for both.
 */
export async function supersede(options: {
  settings: EngineSettings;
  hub: Hub;
  replica: string;
  owner: string;
  contextId: string;
  taskId: string;
}): Promise<{ readonly written: Promise<void> }> {
  const { settings, hub, replica, owner, contextId, taskId } = options;
  const page = await settings.store.list({
    owner,
    contextId,
    state: 'TASK_STATE_INPUT_REQUIRED',
    limit: 100,
  });
  const end = { kind: 'completed', metadata: { superseded_by: taskId } } as const;
  // A lost race means that the task went on or was cancelled meanwhile: then it is not ours to end.
  const ends = page.records
    .filter((record) => record.id !== taskId)
    .map((record) => appendEnd({ settings, hub, replica, record, end }));
  const written = Promise.all(ends).then(() => undefined);
  return {
    written: written.catch((error: unknown) => {
      settings.logger.warn({ taskId, error }, 'tasks.supersede.failed');
    }),
  };
}
