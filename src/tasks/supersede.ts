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
  /** Whether the turn that supersedes is still this process's, as the store sees it. */
  isOurs: () => Promise<boolean>;
}): Promise<{ readonly written: Promise<void> }> {
  const { settings, hub, replica, owner, contextId, taskId, isOurs } = options;
  const page = await settings.store.list({
    owner,
    contextId,
    state: 'TASK_STATE_INPUT_REQUIRED',
    limit: 100,
  });
  const open = page.records.filter((record) => record.id !== taskId);
  // A process that was held up may find questions of later turns; while the turn is ours, none ran.
  if (open.length > 0 && settings.store.shared && !(await isOurs())) {
    return { written: Promise.resolve() };
  }
  const end = { kind: 'completed', metadata: { superseded_by: taskId } } as const;
  // A lost race means that the task went on or was cancelled meanwhile: then it is not ours to end.
  const ends = open.map((record) => appendEnd({ settings, hub, replica, record, end }));
  const written = Promise.all(ends).then(() => undefined);
  return {
    written: written.catch((error: unknown) => {
      settings.logger.warn({ taskId, error }, 'tasks.supersede.failed');
    }),
  };
}
