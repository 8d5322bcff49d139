import type { StoreSettings } from '../config/index.ts';
import type { EngineOptions } from './options.ts';

/** How long `store:` of a project says that things are kept; what it leaves out is left out. */
export function retentionOf(
  settings: StoreSettings | undefined,
): Pick<EngineOptions, 'retentionMs' | 'contextRetentionMs'> {
  const { taskRetentionSeconds: tasks, contextRetentionSeconds: contexts } = settings ?? {};
  return {
    ...(tasks !== undefined && { retentionMs: tasks * 1000 }),
    ...(contexts !== undefined && { contextRetentionMs: contexts * 1000 }),
  };
}
