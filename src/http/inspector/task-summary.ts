import type { Caller } from '../../agents/index.ts';
import type { Task } from '../../protocol/index.ts';
import type { TaskRecord } from '../../store/index.ts';
import type { OwnerView, TaskSummary } from './model.ts';

/** Characters shown of what was asked. */
const maxRequest = 140;

export function taskSummary(record: TaskRecord): TaskSummary {
  const { id, contextId, state, version, statusTime, cancelRequested, hasPush } = record;
  return {
    id,
    contextId,
    owner: ownerView(record.owner),
    state,
    version,
    statusTime,
    cancelRequested,
    hasPush,
    request: requestOf(record.snapshot.body.value),
  };
}

/** The first words of the task; where there are none, what came instead. */
function requestOf({ history }: Task): string {
  const parts = history?.[0]?.parts ?? [];
  const words = parts.map((part) => part.text ?? '').join(' ');
  const shown = words.replaceAll(/\s+/g, ' ').trim();
  if (shown !== '') return shown.length > maxRequest ? `${shown.slice(0, maxRequest)}…` : shown;
  const [first] = parts;
  if (first === undefined) return '';
  return first.filename ?? (first.data === undefined ? 'a file' : 'data');
}

/** Who is behind an owner key; what is no such key is shown as it is. */
export function ownerView(key: string): OwnerView {
  let parts: unknown;
  try {
    parts = JSON.parse(key);
  } catch {
    // Not one of ours: the key alone has to do.
  }
  const [agent = '', tenant = '', subject = key] = Array.isArray(parts) ? parts.map(String) : [];
  return { key, agent, tenant, subject };
}

/** Acts for the owner: an operator may stop and follow what belongs to others. */
export function callerOf(owner: string): Caller {
  const { tenant, subject } = ownerView(owner);
  return { tenant, subject, method: 'operator' };
}
