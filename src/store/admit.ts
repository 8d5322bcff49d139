import { isTerminal, type Json, type Task } from '../protocol/index.ts';
import type { Admission, AdmitOutcome } from './contract.ts';
import type { KnownMessage, Tables } from './tables.ts';

/** Admits one message; `id` is that of its turn. Inside a transaction only. */
export function admit(tables: Tables, admission: Admission, id: number): AdmitOutcome {
  const { messages, turns } = tables;
  const { agent, owner, key, taskId, replica, request, dedupe, task, now } = admission;
  const known = dedupe && messages.find(owner, dedupe.key);
  if (known !== undefined && isRemembered(tables, known, now)) {
    if (known.digest !== dedupe?.digest) return { kind: 'reused' };
    return {
      kind: 'duplicate',
      taskId: known.taskId,
      ended: turns.open.get(known.turnId) === undefined,
      ...(known.reply !== undefined && { reply: known.reply }),
    };
  }
  const refusal = refusalOf(tables, admission);
  if (refusal !== undefined) return { kind: refusal };
  // First what may throw: a table in memory has no rollback.
  if (task !== undefined) create(tables, admission, task);
  if (known !== undefined) messages.delete(known.turnId);
  if (dedupe !== undefined) messages.insert(id, owner, dedupe, taskId);
  const running = !turns.open.isBusy(key);
  const turn = { id, agent, key, taskId, attempt: 1, replica: running ? replica : undefined };
  turns.insert(turn, request);
  return { kind: 'admitted', turn: { id, key, taskId, attempt: 1, request }, running };
}

function refusalOf(
  { tasks, openContexts }: Tables,
  admission: Admission,
): 'context-limit' | 'task-not-found' | 'task-ended' | undefined {
  if (admission.task !== undefined) {
    return openContexts.isFull(admission, admission.maxContexts) ? 'context-limit' : undefined;
  }
  const existing = tasks.find(admission.taskId);
  if (existing?.owner !== admission.owner) return 'task-not-found';
  return isTerminal(existing.state) ? 'task-ended' : undefined;
}

function isRemembered({ turns, tasks }: Tables, message: KnownMessage, now: number): boolean {
  if (turns.open.get(message.turnId) !== undefined) return true;
  if (message.expiresAt <= now) return false;
  return message.reply !== undefined || tasks.find(message.taskId) !== undefined;
}

function create(tables: Tables, admission: Admission, body: Json<Task>): void {
  const task = tables.tasks.insert(admission, body.value.status.state);
  tables.events.begin(task.number, body);
  if (admission.push === undefined) return;
  tables.push.register(task, admission.push);
  tables.push.owe(task, 1, admission.now);
}
