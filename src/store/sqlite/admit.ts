import { isTerminal, type Json, type Task } from '../../protocol/index.ts';
import type { Admission, AdmitOutcome } from '../contract.ts';
import type { KnownMessage } from './message-table.ts';
import type { Tables } from './tables.ts';

/** Admits one message; `id` is that of its turn. Inside a transaction only. */
export function admit(tables: Tables, admission: Admission, id: number): AdmitOutcome {
  const { turns } = tables;
  const { agent, key, taskId, replica, request, dedupe, task } = admission;
  const refusal = refusalOf(tables, admission);
  const known = recall(tables, id, admission, refusal !== undefined);
  if (known !== undefined) {
    if (known.digest !== dedupe?.digest) return { kind: 'reused' };
    return {
      kind: 'duplicate',
      taskId: known.taskId,
      ended: turns.open.get(known.turnId) === undefined,
      ...(known.reply !== undefined && { reply: known.reply }),
    };
  }
  if (refusal !== undefined) return { kind: refusal };
  if (task !== undefined) create(tables, admission, task);
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

/** The message that came before. Else this one is written down, unless it is refused anyway. */
function recall(
  tables: Tables,
  turnId: number,
  { owner, dedupe, taskId, now }: Admission,
  isRefused: boolean,
): KnownMessage | undefined {
  if (dedupe === undefined) return undefined;
  const { messages } = tables;
  const known = messages.find(owner, dedupe.key);
  if (known !== undefined) {
    if (isRemembered(tables, known, now)) return known;
    messages.delete(known.turnId);
  }
  if (!isRefused) messages.insert(turnId, owner, dedupe, taskId);
  return undefined;
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
