import { appendEnd } from './append-end.ts';
import type { Hub } from './hub.ts';
import type { EngineSettings } from './options.ts';

/**
 * A conversation with one state has one open question: a message that begins a new task answers it
 * as well. The older input-required tasks of the context end as completed and name their successor.
 */
export async function supersede(options: {
  settings: EngineSettings;
  hub: Hub;
  replica: string;
  owner: string;
  contextId: string;
  taskId: string;
}): Promise<void> {
  const { settings, hub, replica, owner, contextId, taskId } = options;
  const page = await settings.store.list({
    owner,
    contextId,
    state: 'TASK_STATE_INPUT_REQUIRED',
    limit: 100,
  });
  for (const record of page.records) {
    if (record.id === taskId) continue;
    // A lost race means that the task went on or was cancelled meanwhile: then it is not ours to end.
    await appendEnd({
      settings,
      hub,
      replica,
      record,
      end: { kind: 'completed', metadata: { superseded_by: taskId } },
    });
  }
}
