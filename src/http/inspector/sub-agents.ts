import type { JsonObject } from '../../protocol/index.ts';
import type { TaskRecord } from '../../store/index.ts';
import type { Inspection } from './inspection.ts';
import type { CallsView, SubAgentView } from './network.ts';
import { ownerView } from './task-summary.ts';

/** Conversations whose calls are counted, the latest; and the entries of each that are read. */
const maxContexts = 20;
const maxEntries = 200;

/** Those that the assistant names: others by their cards, and those that are part of it. */
export function subAgents({ agent: caller, assistant }: Inspection): readonly SubAgentView[] {
  const named = assistant?.subAgents() ?? [];
  return named.map((one) => ({ ...one, id: idOf(caller, one.name), caller }));
}

function idOf(caller: string, name: string): string {
  return `sub agent ${caller} ${name}`;
}

/** How often the assistant called its sub agents, by the logs of the conversations of these tasks. */
export async function subAgentCalls(
  inspection: Inspection,
  tasks: readonly Pick<TaskRecord, 'owner' | 'contextId'>[],
): Promise<readonly CallsView[]> {
  const { agent: from, store } = inspection;
  if (subAgents(inspection).length === 0) return [];
  const contexts = new Map<string, Pick<TaskRecord, 'owner' | 'contextId'>>();
  for (const { owner, contextId } of tasks) {
    if (contexts.size >= maxContexts) break;
    if (ownerView(owner).agent === from) {
      contexts.set(JSON.stringify([owner, contextId]), { owner, contextId });
    }
  }
  const calls = new Map<string, CallsView>();
  for (const { owner, contextId } of contexts.values()) {
    for (const { value } of await store.readContextLog(owner, contextId, maxEntries)) {
      const { event, agent_id: agent, timestamp } = value as JsonObject;
      if (event !== 'agent_started' || typeof agent !== 'string') continue;
      const to = idOf(from, agent);
      const before = calls.get(to);
      const at = typeof timestamp === 'number' ? timestamp * 1_000 : 0;
      const lastAt = Math.max(before?.lastAt ?? 0, at);
      calls.set(to, { from, to, count: (before?.count ?? 0) + 1, failed: 0, lastAt });
    }
  }
  return [...calls.values()];
}
